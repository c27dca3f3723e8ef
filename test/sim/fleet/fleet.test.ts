import { describe, expect, test } from 'vitest'
import { createLaboratory } from '../../../src/sim/experiments/laboratory.js'
import {
  capacityAt,
  generateWorkload,
  mixByLongFraction,
  pickerCases,
  policyCases,
  runFleet,
} from '../../../src/sim/index.js'

const { spec, calibration } = createLaboratory({ soloRuns: 10 }).world({
  gpu: 'rtx-6000-ada',
  model: 'qwen2.5-omni',
})
const workload = generateWorkload({
  spec,
  mix: mixByLongFraction(spec.classes, 0.3),
  rate: 2,
  extent: { requests: 120 },
  seed: 3,
})

function run(picker: string, more: object = {}) {
  return runFleet({
    engines: Array.from({ length: 4 }, () => ({ spec, calibration })),
    workload,
    policy: policyCases(['horizonserve-slots'])[0]!,
    picker: pickerCases([picker])[0]!,
    seed: 5,
    ...more,
  })
}

describe('a simulated fleet', () => {
  test.each(['random', 'round-robin', 'power-of-two', 'queue-scorer', 'slack'])(
    'behind %s every request ends, once, and the same arguments give the same run',
    (picker) => {
      const first = run(picker, { scrapeMs: 500, pickers: 3 })
      expect(first.summary.all.completed).toBe(120)
      expect(first.perEngine.reduce((a, b) => a + b)).toBe(120)
      const again = run(picker, { scrapeMs: 500, pickers: 3 })
      expect([...again.record.firstResponseMs]).toEqual([...first.record.firstResponseMs])
    },
  )

  test('an engine that is lost takes only what had its first response; the rest is sent again', () => {
    const lost = run('slack', { losses: [{ engine: 0, atMs: 20_000 }] })
    const { all } = lost.summary
    expect(all.completed + lost.brokenOff).toBe(120)
    expect(lost.perEngine.reduce((a, b) => a + b)).toBe(120 + lost.resent)
  })

  test('when every engine is lost, what is left is counted as unfinished', () => {
    const losses = [0, 1, 2, 3].map((engine) => ({ engine, atMs: 10_000 }))
    const { all } = run('slack', { losses }).summary
    expect(all.unfinished).toBeGreaterThan(0)
    expect(all.completed + all.unfinished).toBe(120)
  })

  test('impossible fleets are refused', () => {
    expect(() => run('slack', { pickers: 9 })).toThrow(/pickers/)
    expect(() => pickerCases(['best'])).toThrow(/slack/)
  })
})

test('capacity lies where attainment crosses the line', () => {
  expect(
    capacityAt(
      [
        [1, 100],
        [2, 80],
        [3, 60],
      ],
      90,
    ),
  ).toBe(1.5)
  expect(
    capacityAt(
      [
        [1, 80],
        [2, 70],
      ],
      90,
    ),
  ).toBeNaN()
})
