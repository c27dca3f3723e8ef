/** The two readings of the rotation, each against its own statement, on the real signals of a step. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGroups } from '../../src/core/groups.js'
import { createClassTable, LONG, SHORT } from '../../src/core/request-class.js'
import { ORDINARY, PROTECTED } from '../../src/core/request-table.js'
import { createSignals } from '../../src/core/signals.js'
import { type PathRotationOptions, pathRotation, shortSteps } from '../../src/policies/index.js'
import { CLASSES, thrownBy } from '../support/fixture.js'
import { runs } from '../support/runs.js'

/** Phases and N for a series of (protected, ordinary) short-path requests waiting. */
function rotate(
  options: PathRotationOptions,
  waiting: readonly (readonly [urgent: number, ordinary: number])[],
): { isLong: boolean; n: number }[] {
  const classes = createClassTable(CLASSES)
  const counts = new Int32Array(classes.count * 3)
  const byPath = new Int32Array(6)
  const signals = createSignals(classes, {
    counts,
    byPath,
    oldestMs: () => Infinity,
    earliestLostMs: () => Infinity,
  })
  const groups = createGroups(classes)
  const filter = pathRotation(options)
  return waiting.map(([urgent, ordinary], k) => {
    byPath[SHORT * 3 + ORDINARY] = ordinary
    byPath[SHORT * 3 + PROTECTED] = urgent
    signals.step = k
    groups.reset()
    filter.filter(signals, groups)
    return { isLong: groups.phase === LONG, n: groups.n }
  })
}

const world = fc.record({
  m: fc.integer({ min: 1, max: 4 }),
  nMin: fc.integer({ min: 0, max: 4 }),
  more: fc.nat(8),
  waiting: fc.array(fc.tuple(fc.nat(6), fc.nat(6)), { maxLength: 120, size: 'max' }),
})

test('cycle: every window of nMax + m steps has at least m long-path steps', () => {
  fc.assert(
    fc.property(world, ({ m, nMin, more, waiting }) => {
      const nMax = nMin + more
      const phases = rotate({ m, nMin, nMax, update: 'cycle' }, waiting)
      for (let start = 0; start + nMax + m <= phases.length; start++) {
        const longs = phases.slice(start, start + nMax + m).filter(({ isLong }) => isLong).length
        expect(longs).toBeGreaterThanOrEqual(m)
      }
    }),
    { numRuns: runs(200, 10_000) },
  )
})

test('cycle: N is taken at the start of a cycle and held for it', () => {
  const n = rotate({ m: 1, nMin: 1, nMax: 3 }, [
    [0, 1],
    [1, 0],
    [1, 0],
    [0, 1],
    [0, 1],
    [0, 1],
    [0, 1],
  ]).map((p) => p.n)
  expect(n).toEqual([1, 1, 3, 3, 3, 3, 1])
})

test('step: Algorithm 1 as printed, k mod (N + M) < N with N renewed in each step', () => {
  fc.assert(
    fc.property(world, ({ m, nMin, more, waiting }) => {
      const nMax = nMin + more
      const got = rotate({ m, nMin, nMax, update: 'step' }, waiting)
      for (const [k, [urgent, ordinary]] of waiting.entries()) {
        const fraction = urgent + ordinary === 0 ? 0 : urgent / (urgent + ordinary)
        const n = Math.floor(nMin + fraction * (nMax - nMin) + 0.5)
        expect(got[k]).toEqual({ n, isLong: !(k % (n + m) < n) })
      }
    }),
    { numRuns: runs(200, 10_000) },
  )
})

test('step: the bound of cycle does not hold; 18 steps in a row without a long-path one', () => {
  // k mod 4 < 2 where N is 2, k mod 10 < 8 where it is 8: whoever sets N by k starves the long path.
  const waiting = Array.from(
    { length: 40 },
    (_, k) => (k % 4 < 2 ? [0, 1] : [1, 0]) as [number, number],
  )
  const longAt = rotate({ update: 'step' }, waiting).flatMap(({ isLong }, k) => (isLong ? [k] : []))
  expect(longAt).toEqual([18, 19, 38, 39])
  const cycle = rotate({ update: 'cycle' }, waiting).filter(({ isLong }) => isLong)
  expect(cycle.length).toBeGreaterThanOrEqual(8)
})

test.each([
  [0, 2],
  [0.08, 2],
  [1 / 12, 3],
  [0.25, 4],
  [0.5, 5],
  [1, 8],
])('a protected fraction of %f gives N = %i: linear in [2, 8], halves up', (fraction, n) => {
  expect(shortSteps(fraction, 2, 8)).toBe(n)
})

test.each([
  [{ m: 0 }, 'rotation.m'],
  [{ m: 1.5 }, 'rotation.m'],
  [{ nMin: -1 }, 'rotation.nMin'],
  [{ nMin: 5, nMax: 4 }, 'rotation.nMax'],
  [{ nMax: Number.NaN }, 'rotation.nMax'],
])('%o is refused', (options, field) => {
  expect(thrownBy(() => pathRotation(options))).toEqual({ code: 'ERR_POLICIES_ROTATION', field })
})
