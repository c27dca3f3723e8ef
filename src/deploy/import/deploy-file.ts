/**
 * @module
 * A vLLM-Omni deploy file with the files it builds on, put together the way the engine's own loader does it:
 * `base_config` first, then the overlay; stages by number; sampling settings, connectors and platforms merged in depth.
 */
import { parse } from 'yaml'
import { HorizonError } from '../../core/errors.js'

export type Values = Readonly<Record<string, unknown>>

export interface DeployFile {
  /** The file named first, then what it builds on; names without folders. */
  readonly files: readonly { readonly name: string; readonly text: string }[]
  /** All of them as one. */
  readonly merged: Values
  readonly stages: readonly Values[]
}

/** Settings of which an overlay changes parts. */
const DEEP = [
  'default_sampling_params',
  'default_pooling_params',
  'subtalker_sampling_params',
  'engine_extras',
  'engine_args',
]
const MAX_BASES = 16

/**
 * Reads a deploy file. `read` gets a path relative to the folder of the file that names it, and that file's path.
 * Throws `ERR_DEPLOY_IMPORT` with the file and what is wrong.
 */
export function readDeployFile(
  path: string,
  read: (
    path: string,
    from: string | undefined,
  ) => { readonly path: string; readonly text: string },
): DeployFile {
  const files: { name: string; text: string }[] = []
  const load = (named: string, from: string | undefined): Values => {
    const found = read(named, from)
    const fail = (why: string): never => {
      throw new HorizonError('ERR_DEPLOY_IMPORT', `${found.path}: ${why}`, {
        expected: 'a vLLM-Omni deploy file: `stages` by number, maybe a `base_config`',
      })
    }
    let data: unknown
    try {
      data = parse(found.text)
    } catch (error) {
      fail(error instanceof Error ? error.message : String(error))
    }
    if (!isRecord(data)) return fail('the file is no mapping')
    if ('stage_args' in data)
      fail('`stage_args` is the schema of older releases; the engine refuses it')
    if ('nodes' in data) fail('this is a HorizonServe pipeline already')
    for (const stage of (data.stages as unknown[] | undefined) ?? [])
      if (!isRecord(stage) || !Number.isInteger(stage.stage_id)) fail('a stage has no `stage_id`')
    files.push({ name: found.path.split('/').at(-1)!, text: found.text })
    if (files.length > MAX_BASES) fail(`more than ${MAX_BASES} files build on each other`)
    const { base_config: base, ...own } = data
    if (base === undefined || base === null) return own
    return merge(load(String(base), found.path), own)
  }
  const merged = load(path, undefined)
  return { files, merged, stages: (merged.stages as Values[] | undefined) ?? [] }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function merge(base: Values, overlay: Values): Values {
  const merged: Record<string, unknown> = { ...base, ...overlay }
  if (base.connectors || overlay.connectors)
    merged.connectors = deep(asRecord(base.connectors), asRecord(overlay.connectors))
  merged.stages = mergeStages(base.stages, overlay.stages)
  if (base.platforms || overlay.platforms) {
    const [one, two] = [asRecord(base.platforms), asRecord(overlay.platforms)]
    const names = new Set([...Object.keys(one), ...Object.keys(two)])
    merged.platforms = Object.fromEntries(
      [...names].map((name) => {
        const [a, b] = [asRecord(one[name]), asRecord(two[name])]
        return [name, { ...a, ...b, stages: mergeStages(a.stages, b.stages) }]
      }),
    )
  }
  return merged
}

function mergeStages(base: unknown, overlay: unknown): Values[] {
  const byId = new Map<unknown, Values>()
  for (const stage of (base as Values[] | undefined) ?? []) byId.set(stage.stage_id, stage)
  for (const stage of (overlay as Values[] | undefined) ?? []) {
    const under = byId.get(stage.stage_id)
    if (under === undefined) {
      byId.set(stage.stage_id, stage)
      continue
    }
    const both: Record<string, unknown> = { ...under, ...stage }
    for (const key of DEEP)
      if (isRecord(under[key]) && isRecord(stage[key])) both[key] = deep(under[key], stage[key])
    byId.set(stage.stage_id, both)
  }
  return [...byId.values()]
}

function deep(base: Values, overlay: Values): Values {
  const result: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(overlay)) {
    const under = result[key]
    result[key] = isRecord(under) && isRecord(value) ? deep(under, value) : value
  }
  return result
}

function asRecord(value: unknown): Values {
  return isRecord(value) ? value : {}
}
