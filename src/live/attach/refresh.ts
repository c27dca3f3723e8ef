/**
 * @module
 * A configuration that is in use, brought up to date with new measurements: what was measured is renewed, everything else stays, comments
 * too.
 */
import { parseDocument } from 'yaml'
import { type HorizonConfig, parseConfig } from '../../config.js'
import { HorizonError } from '../../core/index.js'
import { type ChangedField, diffConfiguration } from '../../dashboard/configuration-diff.js'

export interface Refreshed {
  readonly text: string
  readonly changed: readonly ChangedField[]
}

/** `text` is YAML or JSON. An SLO in ms that somebody wrote is theirs and stays. Throws `ERR_CONFIG_FILE` or `ERR_CONFIG_INVALID`. */
export function refreshYaml(text: string, measured: HorizonConfig, name: string): Refreshed {
  const document = parseDocument(text)
  if (document.errors.length > 0) {
    throw new HorizonError('ERR_CONFIG_FILE', 'the configuration cannot be parsed', {
      field: name,
      got: document.errors[0]?.message,
    })
  }
  const before = document.toJS() as HorizonConfig
  parseConfig(before)
  const put = (path: string[], value: unknown): void => {
    if (JSON.stringify(document.getIn(path)) !== JSON.stringify(value))
      document.setIn(path, document.createNode(value))
  }
  for (const [className, of] of Object.entries(measured.classes)) {
    const known = before.classes[className]
    if (known === undefined) put(['classes', className], of)
    else if (known.sloMs === undefined) put(['classes', className, 'soloP95Ms'], of.soloP95Ms)
    put(['profile', className], measured.profile[className])
  }
  if (measured.slots !== undefined) put(['slots'], measured.slots)
  const concurrency = measured.estimates?.downstreamConcurrency
  if (concurrency !== undefined) put(['estimates', 'downstreamConcurrency'], concurrency)
  const after = document.toJS() as HorizonConfig
  parseConfig(after)
  return { text: document.toString(), changed: diffConfiguration(before, after) }
}
