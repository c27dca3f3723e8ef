/**
 * @module
 * A line of JSON lines. Broken lines of a trace are an expected outcome, so the answer is a value.
 */

/** One line as a JSON object, or in words why it is none. */
export function parseRecord(line: string): Record<string, unknown> | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'not valid JSON'
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : 'not a JSON object'
}
