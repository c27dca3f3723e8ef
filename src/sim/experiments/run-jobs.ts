/**
 * @module
 * Runs what is not in the store yet, seed by seed and point by point, so that a workload is drawn once for all of its policies.
 */
import type { Results } from './exhibit.js'
import { FIRST_SEED } from './exhibit.js'
import { type Job, jobKey } from './job.js'
import type { Laboratory } from './laboratory.js'
import type { ResultStore } from './result-store.js'

export function runJobs(
  lab: Laboratory,
  store: ResultStore,
  jobs: readonly Job[],
  onProgress: (job: Job, share: number) => void = () => {},
): void {
  const missing = new Map<string, Job>()
  for (const job of jobs) {
    const key = jobKey(job)
    if (store.get(key) === undefined) missing.set(key, job)
  }
  let done = 0
  // Seed by seed, so that a run that is stopped leaves every point with the same seeds.
  const ordered = [...missing].sort(([, a], [, b]) => a.seed - b.seed)
  for (const [key, job] of ordered) {
    onProgress(job, done / missing.size)
    store.put(key, lab.run(job))
    done++
  }
}

export function resultsOf(store: ResultStore): Results {
  return {
    rows: (point, policy, seeds) =>
      Array.from({ length: seeds }, (_, i) => {
        const key = jobKey({ point, policy, seed: FIRST_SEED + i })
        const row = store.get(key)
        if (row === undefined) throw new Error(`not run: ${key}`)
        return row
      }),
  }
}
