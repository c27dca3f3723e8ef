/**
 * @module
 * Drives a session as users would: each request's inputs are written at their times, whether or not earlier requests are
 * done, and every output is stamped when it can be read. Latency counts from the time an input was due, so that a backend
 * which holds up its own inputs cannot look fast.
 */
import type { RunSamples } from '../gate/metric.js'
import type { BackendSession } from './backend.js'
import { type Clock, REAL_CLOCK } from './clock.js'

/** One request of a script. Times in milliseconds from the start of the run, ascending. */
export interface ScriptedRequest {
  readonly inputs: readonly { readonly atMs: number; readonly value: unknown }[]
}

/** What was seen of one request. Times in milliseconds from the start of the run. */
export interface RequestRecord {
  /** When its last input was due: the batch is ready then. */
  readonly readyMs: number
  /** How much later than due its last input was written. */
  readonly lateMs: number
  readonly outputs: readonly { readonly atMs: number; readonly value: unknown }[]
}

/** Runs a script to its end. Fails when any request fails. */
export async function drive(
  session: BackendSession,
  script: readonly ScriptedRequest[],
  clock: Clock = REAL_CLOCK,
): Promise<RequestRecord[]> {
  const start = clock.now()
  const sinceStart = (): number => clock.now() - start
  return await Promise.all(
    script.map(async (request) => {
      let lateMs = 0
      const due = request.inputs.at(-1)?.atMs ?? 0
      async function* inputs(): AsyncIterable<unknown> {
        for (const input of request.inputs) {
          await clock.sleepUntil(start + input.atMs)
          lateMs = sinceStart() - input.atMs
          yield input.value
        }
      }
      await clock.sleepUntil(start + (request.inputs[0]?.atMs ?? 0))
      const outputs: { atMs: number; value: unknown }[] = []
      for await (const value of session.request(inputs())) {
        outputs.push({ atMs: sinceStart(), value })
      }
      return { readyMs: due, lateMs, outputs }
    }),
  )
}

/**
 * A run's samples for the gate. Its real-time factor is the time from ready to last output over the media time made, with
 * `mediaMsPerOutput` of media in each output: above 1 a user waits for the stream. Requests without outputs count as never
 * answered: they make a run unusable rather than fast. What comes before the last input was due has kept nobody waiting: 0.
 */
export function measureRun(
  records: readonly RequestRecord[],
  mediaMsPerOutput?: number,
): RunSamples {
  const answered = records.filter((record) => record.outputs.length > 0)
  const spans = answered.map((record) =>
    Math.max(SHORTEST_MS, record.outputs.at(-1)!.atMs - record.readyMs),
  )
  const totalOutputs = answered.reduce((sum, record) => sum + record.outputs.length, 0)
  const totalSpan = spans.reduce((sum, span) => sum + span, 0)
  return {
    firstOutputMs: answered.map((record) => Math.max(0, record.outputs[0]!.atMs - record.readyMs)),
    gapMs: answered.flatMap((record) =>
      record.outputs.slice(1).map((output, i) => output.atMs - record.outputs[i]!.atMs),
    ),
    ratePerSec: answered.map((record, i) => (1000 * record.outputs.length) / spans[i]!),
    ...(mediaMsPerOutput !== undefined &&
      totalOutputs > 0 && { realTimeFactor: totalSpan / (totalOutputs * mediaMsPerOutput) }),
  }
}

/** A request's time has this floor, so that its rate stays a number. */
const SHORTEST_MS = 1e-3

/** Outputs alone, per request, for the comparison with the reference. */
export function outputsOf(records: readonly RequestRecord[]): unknown[][] {
  return records.map((record) => record.outputs.map((output) => output.value))
}
