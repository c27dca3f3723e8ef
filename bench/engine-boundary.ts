/**
 * @module
 * Question: what does the shim cost the engine at a step boundary, by requests waiting? Unit: ns, in Python: `begin` decides the view,
 * `admit` takes one request from the queue, `end` closes the view, `tell` tells the controller once the device has the step. Bias: no
 * engine around it, so caches are warm; the engine suite measures the same inside `schedule()`, beside vanilla and a naive filter.
 */
import { spawnSync } from 'node:child_process'
import type { Bench } from './bench.js'

export const bench: Bench = {
  name: 'engine-boundary',
  question: 'What does the shim cost the engine at a step boundary?',
  async run({ quick }) {
    const { status, stdout } = spawnSync(
      'python3',
      ['bench/boundary_cost.py', quick ? '500' : '4000'],
      {
        encoding: 'utf8',
      },
    )
    if (status !== 0) return { engineBoundaryNs: 'not measured: python3 or /dev/shm is not here' }
    return { engineBoundaryNs: JSON.parse(stdout) }
  },
}
