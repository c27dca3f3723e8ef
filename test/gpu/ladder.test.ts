import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createGreenContextLadder,
  type GreenContextLadder,
} from '../../src/gpu/green-context-ladder.js'
import { parseLadderDescription } from '../../src/gpu/ladder-description.js'
import { spreadLevels } from '../../src/gpu/ladder-plan.js'
import { describeDouble } from '../abi/double/describe.js'
import { runs } from '../support/runs.js'
import { NOTHING, openDoubleDevice, thrown } from './open-double.js'

/** SMs and compute capability of parts that exist, and what their split is reported to leave out. */
const PARTS = [
  { sms: 58, cc: 89, spec: '' },
  { sms: 108, cc: 80, spec: '' },
  { sms: 128, cc: 89, spec: '' },
  { sms: 132, cc: 90, spec: ';fewer=1' },
  { sms: 142, cc: 89, spec: '' },
  { sms: 188, cc: 120, spec: '' },
] as const

function counts(ladder: GreenContextLadder): [number, number][] {
  return ladder.rows.map((row) => [row.sharedSms, row.downstreamSms])
}

describeDouble('a ladder on the double', () => {
  test.each(PARTS)(
    'of $sms SMs: sides sum to the device, rows rise, counts are read back',
    ({ sms, cc, spec }) => {
      for (const version of [12040, 12080, 13010]) {
        const { cuda, device, live } = openDoubleDevice(`sms=${sms};cc=${cc}${spec}`, version)
        const ladder = createGreenContextLadder(cuda, device, { levels: spreadLevels(sms, 4) })
        const rows = ladder.rows.slice(0, ladder.aggressiveIndex)
        expect(rows.length).toBeGreaterThanOrEqual(3)
        for (const [shared, downstream] of counts(ladder)) expect(shared + downstream).toBe(sms)
        for (const [i, row] of rows.entries()) {
          expect(row.sharedSms).toBeGreaterThan(rows[i - 1]?.sharedSms ?? 0)
          expect(row.downstreamSms).toBeGreaterThan(0)
        }
        expect(ladder.rows.at(-1)).toMatchObject({ kind: 'off', sharedSms: sms, downstreamSms: 0 })
        expect(live()).toMatchObject({ greenContexts: rows.length * 2, primaryRetains: 1 })
        const contexts = rows.flatMap((row) =>
          (['shared', 'downstream'] as const).map((side) => ladder.context(row.index, side)),
        )
        expect(new Set(contexts).size).toBe(contexts.length)
        ladder.close()
        ladder.close()
        expect(live()).toEqual(NOTHING)
      }
    },
  )

  test('known counts: 132 splits into 15 groups of 8 and 12, 142 into 35 of 4 and 2, 188 into 23 of 8 and 4', () => {
    const shapes = PARTS.slice(3).map(({ sms, cc, spec }) => {
      const { cuda, device } = openDoubleDevice(`sms=${sms};cc=${cc}${spec}`)
      const ladder = createGreenContextLadder(cuda, device, { levels: [72], dryRun: true })
      const { groupSms, numGroups } = ladder.describe()
      ladder.close()
      return [numGroups, groupSms, ...(counts(ladder)[0] ?? [])]
    })
    expect(shapes).toEqual([
      [15, 8, 72, 60],
      [35, 4, 72, 70],
      [23, 8, 72, 116],
    ])
  })

  test('a dry run has the same rows and creates nothing', () => {
    const { cuda, device, live } = openDoubleDevice('sms=142;cc=89')
    const levels = [40, 72, 104]
    const dry = createGreenContextLadder(cuda, device, { levels, dryRun: true })
    expect(live()).toMatchObject({ greenContexts: 0, streams: 0 })
    const real = createGreenContextLadder(cuda, device, { levels })
    expect(dry.rows).toEqual(real.rows)
    expect(dry.describe()).toEqual(real.describe())
    expect(thrown(() => dry.context(0, 'shared'))).toMatchObject({ code: 'ERR_GPU_DRY_RUN' })
    dry.close()
    real.close()
    expect(live()).toEqual(NOTHING)
  })

  test('a description rebuilds the very same rows, and holds nothing but small numbers and words', () => {
    const { cuda, device } = openDoubleDevice('sms=188;cc=120')
    const first = createGreenContextLadder(cuda, device, {
      levels: [64, 104, 144],
      aggressiveSms: 176,
    })
    const text = JSON.stringify(first.describe())
    expect(text).not.toMatch(/\d{5}/)
    const description = parseLadderDescription(JSON.parse(text))
    const again = createGreenContextLadder(cuda, device, { description, sides: ['downstream'] })
    expect(again.rows).toEqual(first.rows)
    expect(again.describe()).toEqual(first.describe())
    expect(thrown(() => again.context(0, 'shared'))).toMatchObject({ code: 'ERR_GPU_SIDE' })
    again.close()
    first.close()
  })

  test('another device than described is refused, by the field that differs', () => {
    const { cuda, device, configure, live } = openDoubleDevice('sms=132;cc=90')
    const ladder = createGreenContextLadder(cuda, device, { levels: [72] })
    const description = ladder.describe()
    ladder.close()
    configure('sms=132;cc=90;fewer=1')
    cuda.call('cuInit', 0)
    expect(thrown(() => createGreenContextLadder(cuda, device, { description }))).toMatchObject({
      code: 'ERR_GPU_LADDER_MISMATCH',
      field: 'numGroups',
    })
    expect(live()).toEqual(NOTHING)
  })

  test('a driver that refuses groups and remainder in one descriptor gets a split per row', () => {
    for (const version of [13000, 13010]) {
      const { cuda, device } = openDoubleDevice('sms=132;cc=90;strictalign=1', version)
      const ladder = createGreenContextLadder(cuda, device, { levels: [48, 72, 104] })
      expect(counts(ladder).slice(0, 3)).toEqual([
        [48, 84],
        [72, 60],
        [104, 28],
      ])
      expect(ladder.rows[0]?.method).toBe('pair')
      const again = createGreenContextLadder(cuda, device, { description: ladder.describe() })
      expect(again.rows).toEqual(ladder.rows)
      again.close()
      ladder.close()
    }
  })

  test.each([1, 914, 915])(
    'a driver that merges no resources (%i) gets a split per row, whatever it calls that',
    (code) => {
      const { cuda, device } = openDoubleDevice(`sms=132;cc=90;mergerc=${code}`, 12040)
      const ladder = createGreenContextLadder(cuda, device, { levels: [48, 72, 104] })
      expect(ladder.rows.slice(0, 3).map((row) => row.method)).toEqual(['pair', 'pair', 'pair'])
      ladder.close()
    },
  )

  test('a level that every method refuses is dropped with the reason, the others stay', () => {
    // The driver refuses 72, makes 114 of 120 as one on an L40S did, and does not join groups with their remainder.
    const strict = openDoubleDevice(
      'sms=132;cc=90;strictalign=1;refuse=72;shortfrom=120;shortto=114',
      13000,
    )
    const kept = createGreenContextLadder(strict.cuda, strict.device, { levels: [40, 72, 120] })
    expect(counts(kept)[0]).toEqual([40, 92])
    expect(kept.aggressiveIndex).toBe(1)
    expect(kept.dropped.map((d) => d.wantedSms)).toEqual([72, 120])
    expect(kept.dropped[0]?.reason).toContain('915')
    expect(kept.dropped[1]?.reason).toContain('120 SMs asked, 114 made')
    kept.close()
    expect(strict.live()).toEqual(NOTHING)
    const split = openDoubleDevice(
      'sms=132;cc=90;strictalign=1;refuse=72;shortfrom=120;shortto=114',
      13010,
    )
    const all = createGreenContextLadder(split.cuda, split.device, { levels: [40, 72, 120] })
    expect(all.rows.map((row) => row.method)).toEqual(['pair', 'split', 'split', 'whole', 'whole'])
    expect(all.dropped).toEqual([])
    all.close()
  })

  test('a part that refuses its own minimum gets coarser groups, and the description says so', () => {
    const { cuda, device } = openDoubleDevice('sms=132;cc=90;refuse=8')
    const ladder = createGreenContextLadder(cuda, device, { levels: [72] })
    expect(ladder.describe()).toMatchObject({ minCount: 16, groupSms: 16 })
    expect(counts(ladder)[0]).toEqual([80, 52])
    const again = createGreenContextLadder(cuda, device, { description: ladder.describe() })
    expect(again.rows).toEqual(ladder.rows)
  })

  test('no level left is an error that lists every reason, and leaves nothing behind', () => {
    const { cuda, device, live } = openDoubleDevice('sms=132;cc=90;strictalign=1;refuse=72', 13000)
    const error = thrown(() => createGreenContextLadder(cuda, device, { levels: [72] }))
    expect(error).toMatchObject({ code: 'ERR_GPU_LEVEL_REFUSED' })
    expect(error.message).toContain('72 SMs')
    expect(live()).toEqual(NOTHING)
  })

  test('out of memory stops the ladder and keeps the rows that exist', () => {
    const { cuda, device, live } = openDoubleDevice('sms=142;cc=89;oomafter=5')
    const ladder = createGreenContextLadder(cuda, device, { levels: [32, 64, 96, 128] })
    expect(counts(ladder).slice(0, ladder.aggressiveIndex)).toEqual([
      [32, 110],
      [64, 78],
    ])
    expect(ladder.dropped.map((d) => d.wantedSms)).toEqual([96, 128])
    expect(ladder.dropped[0]?.reason).toContain('memory')
    ladder.close()
    expect(live()).toEqual(NOTHING)
  })

  test.each([
    [{ levels: [] }, 'levels'],
    [{ levels: [0] }, 'levels[0]'],
    [{ levels: [-8] }, 'levels[0]'],
    [{ levels: [16, 132] }, 'levels[1]'],
    [{ levels: [72.5] }, 'levels[0]'],
    [{ levels: [Number.NaN] }, 'levels[0]'],
    [{ levels: [72], aggressiveSms: 133 }, 'aggressiveSms'],
    [{ levels: [72], aggressiveSms: 0 }, 'aggressiveSms'],
  ])('levels that cannot be are an error: %j', (options, field) => {
    const { cuda, device, live } = openDoubleDevice()
    expect(thrown(() => createGreenContextLadder(cuda, device, options))).toMatchObject({
      code: 'ERR_GPU_LEVELS',
      field,
    })
    expect(live()).toEqual(NOTHING)
  })

  test('after close every use says so', () => {
    const { cuda, device } = openDoubleDevice()
    const ladder = createGreenContextLadder(cuda, device, { levels: [72] })
    ladder.close()
    expect(ladder.isClosed()).toBe(true)
    for (const use of [() => ladder.context(0, 'shared'), () => ladder.stream(0, 'downstream')])
      expect(thrown(use)).toMatchObject({ code: 'ERR_GPU_LADDER_CLOSED' })
  })

  test('a driver without Green Contexts, or a GPU too old for them, is an environment error', () => {
    const old = openDoubleDevice('', 11080)
    expect(
      thrown(() => createGreenContextLadder(old.cuda, old.device, { levels: [72] })),
    ).toMatchObject({
      code: 'ERR_GPU_GREEN_CONTEXT_UNAVAILABLE',
      message: expect.stringContaining('cuDeviceGetDevResource'),
    })
    expect(old.live()).toEqual(NOTHING)
    const pascal = openDoubleDevice('cc=61;sms=28')
    expect(
      thrown(() => createGreenContextLadder(pascal.cuda, pascal.device, { levels: [8] })),
    ).toMatchObject({
      code: 'ERR_GPU_GREEN_CONTEXT_UNAVAILABLE',
    })
    expect(pascal.live()).toEqual(NOTHING)
  })

  test('any part and any wishes: complementary, rising, within the device, nothing leaks', () => {
    const arbitrary = fc.record({
      sms: fc.integer({ min: 16, max: 256 }),
      cc: fc.constantFrom(75, 80, 89, 90, 100, 120),
      version: fc.constantFrom(12040, 12050, 12080, 13010),
      strict: fc.boolean(),
      fewer: fc.boolean(),
      refuse: fc.integer({ min: 8, max: 200 }),
      wishes: fc.array(fc.double({ min: 0.01, max: 0.99, noNaN: true }), {
        minLength: 1,
        maxLength: 8,
      }),
    })
    fc.assert(
      fc.property(arbitrary, ({ sms, cc, version, strict, fewer, refuse, wishes }) => {
        const spec = `sms=${sms};cc=${cc};strictalign=${strict ? 1 : 0};fewer=${fewer ? 1 : 0};refuse=${refuse}`
        const { cuda, device, live } = openDoubleDevice(spec, version)
        const levels = wishes.map((w) => Math.min(sms - 1, Math.max(1, Math.round(w * sms))))
        let ladder: GreenContextLadder | undefined
        try {
          ladder = createGreenContextLadder(cuda, device, { levels })
        } catch (error) {
          expect((error as { code?: string }).code).toBe('ERR_GPU_LEVEL_REFUSED')
        }
        if (ladder !== undefined) {
          let below = 0
          for (const row of ladder.rows.slice(0, ladder.aggressiveIndex)) {
            expect(row.sharedSms).toBeGreaterThan(below)
            expect(row.sharedSms + row.downstreamSms).toBe(sms)
            expect(row.downstreamSms).toBeGreaterThan(0)
            below = row.sharedSms
          }
          expect(ladder.aggressiveIndex + ladder.dropped.length).toBe(levels.length)
          expect(parseLadderDescription(structuredClone(ladder.describe()))).toEqual(
            ladder.describe(),
          )
          ladder.close()
        }
        expect(live()).toEqual(NOTHING)
      }),
      { numRuns: runs(200, 10_000) },
    )
  })
})
