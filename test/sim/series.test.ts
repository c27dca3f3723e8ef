import { expect, test } from 'vitest'
import { createActivityMeter } from '../../src/sim/omni/activity-meter.js'
import { createSeriesRecorder } from '../../src/sim/series.js'

test('a bucket holds the mean of what held in it, weighted by how long', () => {
  const recorder = createSeriesRecorder(['x'], { bucketMs: 10, maxBuckets: 8 })
  recorder.record(0, 5, Float64Array.of(2))
  recorder.record(5, 20, Float64Array.of(4))
  recorder.record(20, 30, Float64Array.of(Number.NaN))
  const { columns, bucketMs } = recorder.build()
  expect(bucketMs).toBe(10)
  expect([...(columns[0] ?? [])]).toEqual([3, 4, Number.NaN])
})

test('a run that outgrows the buckets doubles their width and keeps the mean', () => {
  const recorder = createSeriesRecorder(['x'], { bucketMs: 1, maxBuckets: 16 })
  for (let t = 0; t < 1000; t++) recorder.record(t, t + 1, Float64Array.of(t % 2))
  const { columns, bucketMs } = recorder.build()
  expect(bucketMs).toBe(64)
  expect(columns[0]?.length).toBe(16)
  for (const value of columns[0] ?? []) expect(value).toBeCloseTo(0.5, 9)
})

test('the meter renews once per period, and two stages overlap as if independent', () => {
  const meter = createActivityMeter(100)
  meter.set('shared', 0.5, 0)
  expect(meter.sample(50)).toBe(false)
  expect(meter.value).toBeNaN()
  expect(meter.sample(100)).toBe(true)
  expect(meter.value).toBeCloseTo(0.5, 12)
  meter.set('downstream', 0.5, 100)
  expect(meter.sample(200)).toBe(true)
  expect(meter.value).toBeCloseTo(0.75, 12)
  expect(meter.corunningMean(200)).toBeCloseTo(0.75, 12)
  expect(meter.mean(200)).toBeCloseTo(0.625, 12)
})
