import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ladderSpec, parseLadderDescription } from '../../src/gpu/ladder-description.js'
import { runs } from '../support/runs.js'
import { thrown } from './open-double.js'

test('a description from outside is checked field by field', () => {
  const good = {
    format: 1,
    totalSms: 132,
    minCount: 8,
    groupSms: 8,
    numGroups: 15,
    levels: [{ method: 'groups', groups: 9, sharedSms: 72, downstreamSms: 60 }],
    aggressive: { method: 'whole', groups: 0, sharedSms: 132, downstreamSms: 0 },
  }
  expect(parseLadderDescription(good)).toEqual(good)
  const bad: [unknown, string][] = [
    [null, 'description'],
    [{ ...good, format: 2 }, 'format'],
    [{ ...good, totalSms: 1e9 }, 'totalSms'],
    [{ ...good, numGroups: 17 }, 'numGroups'],
    [{ ...good, levels: [] }, 'levels'],
    [{ ...good, levels: [{ ...good.levels[0], groups: 16 }] }, 'levels[0].groups'],
    [{ ...good, levels: [{ ...good.levels[0], downstreamSms: 61 }] }, 'levels[0]'],
    [{ ...good, levels: [good.levels[0], good.levels[0]] }, 'levels[1].sharedSms'],
    [{ ...good, levels: [{ ...good.levels[0], method: 'magic' }] }, 'levels[0].method'],
    [{ ...good, aggressive: good.levels[0] }, 'aggressive.sharedSms'],
  ]
  for (const [value, field] of bad)
    expect(thrown(() => parseLadderDescription(value))).toMatchObject({
      code: 'ERR_GPU_LADDER_DESCRIPTION',
      field,
    })
  fc.assert(
    fc.property(fc.anything(), (value) => {
      try {
        parseLadderDescription(value)
        return false
      } catch (error) {
        return (error as { code?: string }).code === 'ERR_GPU_LADDER_DESCRIPTION'
      }
    }),
    { numRuns: runs(500, 10_000) },
  )
})

test('the core gets the same rows, the aggressive one last', () => {
  const description = parseLadderDescription({
    format: 1,
    totalSms: 132,
    minCount: 8,
    groupSms: 8,
    numGroups: 15,
    levels: [{ method: 'groups', groups: 9, sharedSms: 72, downstreamSms: 60 }],
    aggressive: { method: 'groups', groups: 15, sharedSms: 120, downstreamSms: 12 },
  })
  expect(ladderSpec(description)).toEqual({ totalSms: 132, levels: [72], aggressiveSms: 120 })
})
