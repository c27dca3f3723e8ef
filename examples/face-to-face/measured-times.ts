/**
 * What a prediction needs to know of this machine beside the declared holds: how long a stage really takes on an idle device
 * (the hold, a message to the worker and one back), and how long a request and an output are under way between the harness and
 * a backend. Each is measured by itself, before any deployment is timed: inputs of the prediction, not fits to its outcome.
 */
import { type BackendSession, drive, jsonLinesBackend } from '../../src/deploy/index.js'

/** Holds per stage, and requests of the echo. */
const ROUNDS = 15

/** The stages' program, as far as it is needed here. */
interface DeviceModule {
  openDevice(): { hold(stage: string): Promise<void>; close(): Promise<unknown> }
}

/** Median milliseconds of each stage on a device that has nothing else to do, by the stage's name. */
export async function measuredHolds(
  app: URL,
  stages: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { openDevice } = (await import(new URL('device.js', app).href)) as DeviceModule
  const device = openDevice()
  const times = new Map(stages.map((stage) => [stage, [] as number[]]))
  // The first round starts the worker.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [stage, seen] of times) {
      const start = performance.now()
      await device.hold(stage)
      if (round > 0) seen.push(performance.now() - start)
    }
  }
  await device.close()
  return new Map([...times].map(([stage, seen]) => [stage, middle(seen)]))
}

const ECHO = `
import { serve } from './backend.js'
await serve(async (input, emit) => emit(input), async () => {})
`

/** Median milliseconds from a request to its output when the backend does nothing in between. */
export async function measuredWayMs(app: string): Promise<number> {
  const echo = jsonLinesBackend('echo', {
    command: [process.execPath, '--input-type=module', '-e', ECHO],
    cwd: app,
  })
  const session: BackendSession = await echo.open()
  const script = [{ inputs: [{ atMs: 0, value: { audio: [0.2, 0.9, 0.4], chunks: 12 } }] }]
  const seen: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const [record] = await drive(session, script)
    if (round > 0) seen.push(record!.outputs[0]!.atMs)
    // As far apart as requests are when stages take their time: a pipe that is hot answers faster.
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await session.close()
  return middle(seen)
}

/** The median; of an even count the upper of the middle two. */
export function middle(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!
}
