/**
 * @module
 * What does the README's way of calling cost: object literals, string ids, `for … of` over the view? Rows under `readmeApi`.
 */
import { createHorizon } from '../src/index.js'
import type { Bench } from './bench.js'
import { createRandom, TAKEN_PER_STEP } from './scheduler-workload.js'
import { spreadOf } from './spread.js'

export const bench: Bench = {
  name: 'readme-api',
  question: 'what does the README-style API cost?',
  async run({ quick }) {
    const decideNs: Record<string, unknown> = {}
    const updateNs: Record<string, unknown> = {}
    for (const size of [64, 1024, 65_536]) {
      const rows = measure(size, quick ? 5000 : 50_000)
      decideNs[size] = spreadOf(rows.decide)
      updateNs[size] = spreadOf(rows.update)
    }
    return { readmeApi: { decideNs, updateNs } }
  },
}

function measure(size: number, turns: number): { decide: Float64Array; update: Float64Array } {
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
  return { decide, update }
}
