/**
 * @module
 * Options that are numbers: what commander hands over is text, and a wrong one is bad input that names the option.
 */
import { HorizonError } from '../core/index.js'

export interface NumberRange {
  readonly min?: number
  readonly max?: number
  readonly integer?: boolean
}

/** `--long-fraction` for `longFraction`, as a user writes it. */
export function optionName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** The number an option holds, or undefined where it was not given. Throws `ERR_CLI_OPTION`. */
export function numberOption(
  options: Readonly<Record<string, unknown>>,
  name: string,
  range: NumberRange = {},
): number | undefined {
  const text = options[name]
  if (text === undefined) return undefined
  return parseNumber(String(text), optionName(name), range)
}

/** Parses a number an option or a part of one holds; `field` names it in the message. */
export function parseNumber(text: string, field: string, range: NumberRange = {}): number {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, integer = false } = range
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (
    Number.isFinite(value) &&
    value >= min &&
    value <= max &&
    (!integer || Number.isInteger(value))
  ) {
    return value
  }
  const bounds = [
    ...(Number.isFinite(min) ? [`at least ${min}`] : []),
    ...(Number.isFinite(max) ? [`at most ${max}`] : []),
  ]
  throw new HorizonError('ERR_CLI_OPTION', 'wrong value', {
    field,
    expected: [`a ${integer ? 'whole ' : ''}number`, ...bounds].join(', '),
    got: text,
  })
}

/** Parses `a=1,b=2`. */
export function numberRecord(
  text: string,
  field: string,
  range: NumberRange = {},
): Record<string, number> {
  const record: Record<string, number> = {}
  for (const part of text.split(',')) {
    const [name = '', value, ...rest] = part.split('=')
    if (name.trim() === '' || value === undefined || rest.length > 0) {
      throw new HorizonError('ERR_CLI_OPTION', 'wrong value', {
        field,
        expected: 'name=number pairs, separated by commas',
        got: text,
      })
    }
    record[name.trim()] = parseNumber(value, `${field} ${name.trim()}`, range)
  }
  return record
}
