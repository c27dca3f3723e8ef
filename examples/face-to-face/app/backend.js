/**
 * Speaks the harness's JSON lines: `{"id", "input"}`, `{"id", "end": true}` in; `{"id", "output"}`, `{"id", "done": true}` out.
 */
import { createInterface } from 'node:readline'

/** Serves `answer(input, emit)` until standard input ends. */
export async function serve(answer, close) {
  const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
  const inputs = new Map()
  write({ ready: true })
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, input, end } = JSON.parse(line)
    if (end !== true) {
      inputs.set(id, input)
      continue
    }
    answer(inputs.get(id), (output) => write({ id, output }))
      .then(() => write({ id, done: true }))
      .catch((error) => write({ id, error: String(error) }))
    inputs.delete(id)
  }
  await close()
}
