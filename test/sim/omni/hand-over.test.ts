import { expect, test } from 'vitest'
import { horizonPolicy } from '../../../src/policies/index.js'
import { calibrate } from '../../../src/sim/calibrate/calibrate.js'
import { collect } from '../../../src/sim/calibrate/collect.js'
import { simulatedTarget } from '../../../src/sim/calibrate/simulated-target.js'
import { HAND_OVERS } from '../../../src/sim/omni/parameters.js'
import { OUTCOME } from '../../../src/sim/omni/run-record.js'
import { omniSpec } from '../../../src/sim/omni/spec.js'
import { policyCases } from '../../../src/sim/policy-case.js'
import { simulate } from '../../../src/sim/simulate.js'
import { mixByLongFraction } from '../../../src/sim/workload/class-mix.js'
import { generateWorkload } from '../../../src/sim/workload/generate.js'
import { thrownBy } from '../../support/fixture.js'

const gpu = 'rtx-6000-ada'
const base = omniSpec(gpu, 'qwen2.5-omni')
const mix = mixByLongFraction(base.classes, 0.6)
const workload = generateWorkload({ spec: base, mix, rate: 0.4, extent: { requests: 60 }, seed: 3 })
const { solo, sweep } = collect(simulatedTarget(base, workload), {
  requestsPerClass: 2,
  sms: [40, 80, 142],
})
const calibration = calibrate(solo, sweep, { totalSms: base.totalSms })
const [vanilla] = policyCases(['vanilla'])

function runIn(mechanism: number, more: Record<string, number> = {}) {
  const runtime = omniSpec(gpu, 'qwen2.5-omni', {
    'handOver.mechanism': mechanism,
    'downstream.slots': 1,
    ...more,
  })
  return simulate({ runtime, workload, policy: vanilla!, calibration })
}

test.each(HAND_OVERS.map((name, i) => [name, i] as const))(
  'every request ends, stage after stage: %s',
  (_name, mechanism) => {
    // A small cache: held requests keep their blocks, and lose them to nobody.
    for (const kvReserveGb of [30, 47.6]) {
      const { record } = runIn(mechanism, { 'shared.kvReserveGb': kvReserveGb })
      for (let i = 0; i < workload.size; i++) {
        if (record.outcome[i] === OUTCOME.refused) continue
        expect(record.outcome[i]).toBe(OUTCOME.completed)
        if (workload.classes[workload.classIndex[i]!]!.path === 'short') continue
        expect(record.downstreamStartMs[i]!).toBeGreaterThanOrEqual(record.decodedMs[i]!)
        expect(record.finishedMs[i]!).toBeGreaterThan(record.downstreamStartMs[i]!)
      }
    }
  },
)

test('a long-path request that holds its place keeps the short path out of it', () => {
  const waits = HAND_OVERS.map((_, mechanism) => {
    const { record } = runIn(mechanism)
    return Math.max(...record.admittedMs.map((at, i) => at - workload.arrivalMs[i]!))
  })
  expect(waits[1]).toBeGreaterThan(2 * waits[0]!)
  expect(waits[2]).toBeGreaterThanOrEqual(waits[1]!)
})

test('with room for all between the stages, until-accepted is free', () => {
  const roomy = runIn(1, { 'handOver.queuePlaces': 1000 })
  expect(roomy.record).toEqual(runIn(0).record)
})

test('what a policy sheds is refused, and nothing else is left over', () => {
  const runtime = omniSpec(gpu, 'qwen2.5-omni', { 'shared.slots': 1 })
  const policy = {
    name: 'sheds',
    about: '',
    sharing: 'green-contexts',
    policy: () => horizonPolicy({ sheds: true }),
  } as const
  const { record, metrics, summary } = simulate({ runtime, workload, policy, calibration })
  const shed = Object.values(metrics.classes).reduce((sum, of) => sum + of.shed, 0)
  expect(shed).toBeGreaterThan(0)
  expect(record.outcome.filter((of) => of === OUTCOME.refused)).toHaveLength(shed)
  expect(record.outcome.filter((of) => of === OUTCOME.completed)).toHaveLength(workload.size - shed)
  expect(summary.all.refused).toBe(shed)
})

test('with a bound, no lost request waits long past it while others are served', () => {
  const late = (boundMs: number | undefined): number => {
    const runtime = omniSpec(gpu, 'qwen2.5-omni', { 'shared.slots': 1 })
    const policy = {
      name: 'late',
      about: '',
      sharing: 'green-contexts',
      policy: () =>
        horizonPolicy({
          triage: { shareFloor: 0 },
          ...(boundMs === undefined ? {} : { lateness: { boundMs } }),
        }),
    } as const
    return simulate({ runtime, workload, policy, calibration }).summary.short.longestWaitMs
  }
  expect(late(5000)).toBeLessThan(late(undefined))
})

test('a hand-over that does not exist is refused', () => {
  expect(thrownBy(() => omniSpec(gpu, 'bagel', { 'handOver.mechanism': 3 }))).toEqual({
    code: 'ERR_SIM_PARAMETER',
    field: 'handOver.mechanism',
  })
})
