import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NVML, NVML_GPM_METRIC, NVML_GPM_METRICS_GET, NVML_SAMPLE } from '../../src/gpu/abi.js'
import { readGpmMetric } from '../../src/gpu/gpm-bandwidth.js'
import { newestSample } from '../../src/gpu/nvml-samples.js'
import { fractionOf } from '../../src/gpu/pressure-source.js'
import { readCounts } from '../../src/gpu/sm-resource.js'
import { readText } from '../../src/native/native-buffer.js'
import { runs } from '../support/runs.js'

describe('decoders of what native code fills, on arbitrary bytes', () => {
  const numRuns = runs(500, 20_000)
  const bytes = (size: number): fc.Arbitrary<Uint8Array> =>
    fc.uint8Array({ minLength: size, maxLength: size })

  test('SM resources: a count within bounds or 0', () => {
    fc.assert(
      fc.property(bytes(288), fc.boolean(), (raw, isSm) => {
        const words = new Uint32Array(raw.slice().buffer)
        if (isSm) words[36] = 1
        const { numSms, minSms, alignSms } = readCounts(words, 1)
        for (const n of [numSms, minSms, alignSms]) expect(n >= 0 && n <= 4096).toBe(true)
      }),
      { numRuns },
    )
    expect(readCounts(new Uint32Array(4), 7)).toEqual({ numSms: 0, minSms: 0, alignSms: 0 })
  })

  test('samples: inside the buffer whatever the count, a percentage or nothing', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.oneof(fc.integer(), fc.double()),
        fc.integer({ min: -2, max: 8 }),
        (raw, count, type) => {
          const newest = newestSample(new DataView(raw.slice().buffer), count, type, 0n)
          if (newest !== undefined) {
            expect(newest.percent >= 0 && newest.percent <= 100).toBe(true)
            expect(newest.timestampUs > 0n).toBe(true)
          }
        },
      ),
      { numRuns },
    )
    expect(NVML_SAMPLE.bytes).toBe(16)
  })

  test('GPM metrics: a fraction or NaN', () => {
    const size = NVML_GPM_METRICS_GET.headBytes + NVML_GPM_METRIC.bytes
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: size + 8 }), fc.boolean(), (raw, isAnswer) => {
        const copy = new DataView(raw.slice().buffer)
        if (isAnswer && copy.byteLength >= size) {
          copy.setUint32(24, NVML.NVML_GPM_METRIC_DRAM_BW_UTIL, true)
          copy.setUint32(28, 0, true)
        }
        const value = readGpmMetric(copy, NVML.NVML_GPM_METRIC_DRAM_BW_UTIL)
        expect(Number.isNaN(value) || (value >= 0 && value <= 1)).toBe(true)
      }),
      { numRuns },
    )
  })

  test('text: never beyond the buffer, with or without a NUL', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 120 }),
        fc.nat({ max: 200 }),
        fc.nat({ max: 200 }),
        (raw, offset, max) => {
          expect(readText(raw, offset, max).length).toBeLessThanOrEqual(raw.length)
          expect(readText(raw, offset, max)).not.toContain('\0')
        },
      ),
      { numRuns },
    )
  })

  test('percentages: a fraction or NaN', () => {
    fc.assert(
      fc.property(fc.double(), (percent) => {
        const value = fractionOf(percent)
        expect(Number.isNaN(value) || (value >= 0 && value <= 1)).toBe(true)
      }),
      { numRuns },
    )
  })
})
