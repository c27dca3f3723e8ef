/**
 * @module
 * Environment overrides, as in the paper (section 5): thresholds can be recalibrated without touching the file.
 */
import type { ClassConfig, HorizonConfig } from './config-fields.js'
import { HorizonError } from './core/errors.js'

const SLO_MS = 'HORIZON_SLO_MS_'

/**
 * A copy of the configuration with overrides from an environment: `HORIZON_SLO_MS_<CLASS>` (class name in upper case, other characters
 * than letters and digits as `_`), `HORIZON_U_GUARD`, `HORIZON_LONG_PATH_CAP`, `HORIZON_PRESET`.
 * Throws `ERR_CONFIG_ENVIRONMENT` for a value that is no number or a class that is not there.
 */
export function applyEnvironment<Name extends string>(
  config: HorizonConfig<Name>,
  environment: Readonly<Record<string, string | undefined>>,
): HorizonConfig<Name> {
  const classes: Record<string, ClassConfig> = { ...config.classes }
  const changes: Record<string, unknown> = {}
  const names = Object.keys(classes)
  for (const [key, text] of Object.entries(environment)) {
    if (text === undefined) continue
    if (key.startsWith(SLO_MS)) {
      const named = names.filter((name) => key.slice(SLO_MS.length) === inCapitals(name))
      const name = named[0]
      if (name === undefined)
        throw environmentError(key, `a class: ${names.map(inCapitals).join(', ')}`, text)
      if (named.length > 1)
        throw environmentError(key, `a name that means one class, not ${named.join(', ')}`, text)
      // What is no record of a class is for the schema to refuse.
      if (typeof classes[name] !== 'object' || classes[name] === null) continue
      const { soloP95Ms: _solo, sloMultiplier: _multiplier, ...rest } = classes[name]!
      classes[name] = { ...rest, sloMs: numberFrom(key, text) }
    } else if (key === 'HORIZON_U_GUARD') changes.uGuard = numberFrom(key, text)
    else if (key === 'HORIZON_LONG_PATH_CAP') changes.longPathCap = numberFrom(key, text)
    else if (key === 'HORIZON_PRESET') changes.preset = text
  }
  return { ...config, ...changes, classes: classes as Record<Name, ClassConfig> }
}

function inCapitals(className: string): string {
  return className.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
}

function numberFrom(key: string, text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw environmentError(key, 'a number', text)
  return value
}

function environmentError(key: string, expected: string, got: string): HorizonError {
  return new HorizonError('ERR_CONFIG_ENVIRONMENT', 'impossible override', {
    field: key,
    expected,
    got,
  })
}
