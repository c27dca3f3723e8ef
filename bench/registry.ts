/**
 * @module
 * The list of benches, in the order they run. Adding one is adding a line here.
 */
import type { Bench } from './bench.js'

export const BENCHES: ReadonlyArray<{
  readonly name: string
  readonly load: () => Promise<Bench>
}> = [
  { name: 'monitor-update', load: async () => (await import('./monitor-update.js')).bench },
  {
    name: 'lockstep-round-trip',
    load: async () => (await import('./lockstep-round-trip.js')).bench,
  },
  { name: 'step', load: async () => (await import('./step.js')).bench },
]
