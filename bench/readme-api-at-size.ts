/**
 * @module
 * The rows of `readme-api.ts` at one number of waiting requests: `node readme-api-at-size.js SIZE full|quick` prints them as JSON.
 */
import { createHorizon } from '../src/index.js'
import type { Spread } from './bench.js'
import { createRandom, TAKEN_PER_STEP } from './scheduler-workload.js'
import { spreadOf } from './spread.js'

const [size, mode] = process.argv.slice(2)
process.stdout.write(JSON.stringify(measure(Number(size), mode === 'quick' ? 5000 : 50_000)))

function measure(size: number, turns: number): Record<'decide' | 'update', Spread> {
  const scale = Math.max(1, size / 64)
  const horizon = createHorizon({
    classes: {
      chat: { output: 'text', sloMs: 500 * scale },
      speech: { output: 'audio', sloMs: 5000 * scale },
    },
    profile: {
      chat: {
        shared: {
          promptTokens: [
            [0, 15],
            [8192, 380],
          ],
        },
      },
      speech: {
        shared: {
          promptTokens: [
            [0, 40],
            [8192, 400],
          ],
        },
        downstream: { fixedMs: 450 },
      },
    },
    ladder: { totalSms: 142, levels: [48, 64, 80] },
  })
  const random = createRandom(7)
  let now = 0
  let nextId = 0
  const arrive = (): void => {
    const draw = random()
    horizon.arrive(
      {
        class: (draw & 1) === 0 ? 'chat' : 'speech',
        promptTokens: 32 << ((draw >>> 4) & 7),
        id: `request-${nextId++}`,
      },
      now,
    )
  }
  for (let i = 0; i < size; i++) {
    now += 1
    arrive()
  }
  const decide = new Float64Array(turns)
  const update = new Float64Array(turns)
  for (let i = 0; i < turns; i++) {
    const batch: number[] = []
    const start = process.hrtime.bigint()
    const decision = horizon.step(now, 0.5, true)
    for (const handle of decision.view) {
      if (batch.length === TAKEN_PER_STEP) break
      batch.push(handle)
    }
    decide[i] = Number(process.hrtime.bigint() - start)
    const between = process.hrtime.bigint()
    for (const handle of batch) {
      horizon.admit(handle)
      horizon.cancel(handle)
      arrive()
    }
    update[i] = Number(process.hrtime.bigint() - between) / Math.max(1, batch.length)
    now += TAKEN_PER_STEP
  }
  return { decide: spreadOf(decide), update: spreadOf(update) }
}
