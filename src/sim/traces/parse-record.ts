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

/** The three fields that the traces under Mooncake's names share, or in words which is wrong. */
export function lengthsOf(
  row: Record<string, unknown>,
): { timestamp: number; promptTokens: number; outputTokens: number } | string {
  const { timestamp, input_length: promptTokens, output_length: outputTokens } = row
  if (typeof timestamp !== 'number') return 'timestamp must be a number'
  if (typeof promptTokens !== 'number') return 'input_length must be a number of tokens'
  if (typeof outputTokens !== 'number') return 'output_length must be a number of tokens'
  return { timestamp, promptTokens, outputTokens }
}
