/**
 * @module
 * The list of benches, in the order they run. Adding one is adding a line here.
 */
import type { Bench } from './bench.js'

interface BenchEntry {
  readonly name: string
  readonly load: () => Promise<Bench>
}

export const BENCHES: readonly BenchEntry[] = [
  { name: 'step', load: async () => (await import('./step.js')).bench },
  { name: 'schedulers', load: async () => (await import('./schedulers.js')).bench },
  { name: 'readme-api', load: async () => (await import('./readme-api.js')).bench },
  { name: 'peers', load: async () => (await import('./peers.js')).bench },
  { name: 'import-cost', load: async () => (await import('./import-cost.js')).bench },
  { name: 'bundle-size', load: async () => (await import('./bundle-size.js')).bench },
  { name: 'pick', load: async () => (await import('./pick.js')).bench },
  { name: 'sim-speed', load: async () => (await import('./sim-speed.js')).bench },
  { name: 'gpu-native', load: async () => (await import('./gpu-native.js')).bench },
  {
    name: 'deploy-search',
    load: async () => (await import('./deploy-search.js')).bench,
  },
  { name: 'gate', load: async () => (await import('./gate.js')).bench },
  { name: 'engine-boundary', load: async () => (await import('./engine-boundary.js')).bench },
  { name: 'monitor-update', load: async () => (await import('./monitor-update.js')).bench },
  {
    name: 'lockstep-round-trip',
    load: async () => (await import('./lockstep-round-trip.js')).bench,
  },
  { name: 'load-rate', load: async () => (await import('./load-rate.js')).bench },
]
