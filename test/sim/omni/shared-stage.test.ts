import { expect, test } from 'vitest'
import { policyCases } from '../../../src/sim/policy-case.js'
import { type SimulationResult, simulate } from '../../../src/sim/simulate.js'
import { selectRequests, type Workload } from '../../../src/sim/workload/workload.js'
import { smallSimulation } from '../../support/simulated.js'

const { spec, workload, calibration } = smallSimulation({ requests: 40, rate: 3 })
const [vanilla] = policyCases(['vanilla'])
if (vanilla === undefined) throw new Error('no vanilla')
const run = (of: Workload): SimulationResult =>
  simulate({ runtime: spec, workload: of, policy: vanilla, calibration })

/** One text request of so many tokens, alone. */
function alone(promptTokens: number, answerTokens: number): Workload {
  const one = selectRequests(workload, 'one', [0], Float64Array.of(0))
  return {
    ...one,
    classIndex: Uint8Array.of(workload.classes.findIndex((of) => of.name === 't2t')),
    promptTokens: Int32Array.of(promptTokens),
    answerTokens: Int32Array.of(answerTokens),
    audioSeconds: Float64Array.of(0),
    images: Int32Array.of(0),
    videos: Int32Array.of(0),
  }
}

// RTX 6000 Ada at half its 364 TFLOPS and 80 % of its 960 GB/s; figure 4b's 5.57 / 4.65 for the whole GPU; 7.1 G weights.
const WEIGHTS_MS = (14.2 / 0.768) * (5.57 / 4.65)
const HOST_MS = 20

test('a short prompt costs one pass over the weights and the host’s share', () => {
  const { record, steps } = run(alone(1, 1))
  expect(steps).toBe(1)
  expect(record.firstResponseMs[0]).toBeCloseTo(HOST_MS + WEIGHTS_MS, 2)
})

test('a long prompt costs arithmetic: 14.2 GFLOP a token, and attention over what came before', () => {
  const tokens = 2000
  const tflop = (tokens * 14.2) / 1000 + (4 * 100_352 * (tokens * tokens)) / 2 / 1e12
  expect(run(alone(tokens, 1)).record.firstResponseMs[0]).toBeCloseTo(HOST_MS + tflop / 0.182, 6)
})

test('a prompt beyond the budget is prefilled in chunks; each further token is one step', () => {
  expect(run(alone(2048, 1)).steps).toBe(1)
  expect(run(alone(2049, 1)).steps).toBe(2)
  expect(run(alone(5000, 10)).steps).toBe(3 + 9)
})

test('first come first served: requests are admitted in order of arrival', () => {
  const { admittedMs } = run(workload).record
  expect([...admittedMs]).toEqual([...admittedMs].sort((a, b) => a - b))
})

test('no stage ever holds more requests than it has slots', () => {
  const { record } = run(workload)
  const most = (from: Float64Array, to: Float64Array): number => {
    const changes = [...from].flatMap((start, i) =>
      Number.isNaN(start)
        ? []
        : [
            [start, 1],
            [to[i] as number, -1],
          ],
    ) as [number, number][]
    // What ends at an instant frees its slot before what begins then takes one.
    changes.sort((a, b) => a[0] - b[0] || a[1] - b[1])
    let held = 0
    let top = 0
    for (const [, change] of changes) {
      held += change
      top = Math.max(top, held)
    }
    return top
  }
  expect(most(record.admittedMs, record.decodedMs)).toBe(spec.shared.slots)
  expect(most(record.downstreamStartMs, record.finishedMs)).toBeLessThanOrEqual(
    spec.downstream.slots,
  )
})

test('a decode step of a batch is shared: four requests at once take far less than four times one', () => {
  const one = run(alone(50, 100)).virtualMs
  const four = {
    ...selectRequests(alone(50, 100), 'four', [0, 0, 0, 0], new Float64Array(4)),
  }
  expect(run(four).virtualMs).toBeLessThan(one * 1.3)
})
