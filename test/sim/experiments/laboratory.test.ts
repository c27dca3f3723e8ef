import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stageCapacity } from '../../../src/sim/experiments/capacity.js'
import { EXPERIMENT_CASES } from '../../../src/sim/experiments/experiment-cases.js'
import { type Job, jobKey, type Point } from '../../../src/sim/experiments/job.js'
import { createLaboratory } from '../../../src/sim/experiments/laboratory.js'
import { createResultStore } from '../../../src/sim/experiments/result-store.js'
import { runJobs } from '../../../src/sim/experiments/run-jobs.js'
import { omniSpec } from '../../../src/sim/omni/spec.js'

const point: Point = {
  gpu: 'rtx-6000-ada',
  model: 'bagel',
  rate: 0.6,
  longFraction: 0.3,
  extent: { requests: 60 },
}
const lab = createLaboratory({ soloRuns: 20 })
const job = (policy: string, seed = 1): Job => ({ point, policy, seed })

test('every case runs, every request is counted once, and none beats the upper bound', () => {
  const bound = lab.run(job('upper-bound'))
  for (const { name } of EXPERIMENT_CASES) {
    const row = lab.run(job(name))
    expect(row.all.arrived, name).toBe(60)
    expect(row.short.arrived + row.long.arrived, name).toBe(60)
    expect(row.all.met, name).toBe(row.short.met + row.long.met)
    expect(row.short.met, name).toBeLessThanOrEqual(bound.short.met)
    expect(row.long.met, name).toBeLessThanOrEqual(bound.long.met)
  }
})

test('the same job gives the same row, to the byte', () => {
  const again = createLaboratory({ soloRuns: 20 })
  expect(JSON.stringify(again.run(job('horizonserve-slots')))).toBe(
    JSON.stringify(lab.run(job('horizonserve-slots'))),
  )
})

test('everything that decides a row is in its key', () => {
  const of = (change: Partial<Point>): string =>
    jobKey({ point: { ...point, ...change }, policy: 'mps', seed: 1 })
  const keys = [
    of({}),
    of({ gpu: 'h200' }),
    of({ model: 'mimo-audio' }),
    of({ rate: 0.7 }),
    of({ longFraction: 0.4 }),
    of({ extent: { minutes: 60 } }),
    of({ arrivals: 'azure-code' }),
    of({ overrides: { 'shared.slots': 8 } }),
    jobKey(job('vanilla')),
    jobKey(job('mps', 2)),
  ]
  expect(new Set(keys).size).toBe(keys.length)
})

test('a second call runs only what is missing, and a line cut short is left out', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'reproduce-')), 'rows.jsonl')
  const ran: string[] = []
  const counting = {
    ...lab,
    run(of: Job) {
      ran.push(of.policy)
      return lab.run(of)
    },
  }
  runJobs(counting, createResultStore(path), [job('mps'), job('mps')])
  appendFileSync(path, '{"print":"half a li')
  const store = createResultStore(path)
  expect(store.found).toBe(1)
  runJobs(counting, store, [job('mps'), job('edf')])
  expect(ran).toEqual(['mps', 'edf'])
})

test('rows of another model are not taken', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'reproduce-')), 'rows.jsonl')
  createResultStore(path).put('a', lab.run(job('mps')))
  const line = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  appendFileSync(path, `${JSON.stringify({ ...line, key: 'b', print: 'another' })}\n`)
  const store = createResultStore(path)
  expect(store.get('a')).toBeDefined()
  expect(store.get('b')).toBeUndefined()
})

test('capacity: images bind BAGEL downstream, decoding binds MiMo-Audio in the shared stage', () => {
  expect(stageCapacity(omniSpec('rtx-6000-ada', 'bagel'), 0.3).binding).toBe('downstream')
  expect(stageCapacity(omniSpec('rtx-6000-ada', 'mimo-audio'), 0.3).binding).toBe('shared')
  const none = stageCapacity(omniSpec('rtx-6000-ada', 'bagel'), 0)
  expect(none.downstream).toBe(Number.POSITIVE_INFINITY)
})
