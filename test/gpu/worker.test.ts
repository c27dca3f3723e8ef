/**
 * @module
 * The Python hook that applies levels around a stage's steps, on a double of torch's streams, events and graphs: a tensor that is
 * read before what makes it is ordered is an error there, as it is silent garbage on a GPU.
 */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('levels: ordered, matched by SMs, never claimed where graphs or the driver ignore them', () => {
  const text = execFileSync(
    process.env.PYTHON ?? 'python3',
    ['test/gpu/torch-double/check_worker.py'],
    { encoding: 'utf8', env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' } },
  )
  const results = JSON.parse(text) as Record<string, string | null>
  expect(Object.keys(results).length).toBeGreaterThan(10)
  const failed = Object.entries(results).filter(([, trace]) => trace !== null)
  expect(failed.map(([name, trace]) => `${name}: ${trace}`)).toEqual([])
})
