/**
 * @module
 * The option `--engine`, as several commands take it.
 */
import { HorizonError } from '../core/errors.js'
import { ENGINES, type EngineName } from './engine-command.js'

/** @throws `ERR_CLI_OPTION` */
export function engineOption(value: unknown): EngineName {
  if (typeof value === 'string' && value in ENGINES) return value as EngineName
  throw new HorizonError('ERR_CLI_OPTION', 'unknown engine', {
    field: '--engine',
    expected: Object.keys(ENGINES).join(', '),
    got: value,
  })
}
