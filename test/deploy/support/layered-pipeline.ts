import { definePipeline } from '../../../src/deploy/ir/builder.js'
import type { Pipeline } from '../../../src/deploy/ir/pipeline.js'
import type { NodeInput, StateInput } from '../../../src/deploy/ir/schema.js'
import { mulberry } from './mulberry.js'

/**
 * A large application in the shape real ones have: a few branches that split and join, a cache in most nodes, some
 * caches shared by two neighbours, sublinear speed-up.
 */
export function layeredPipeline(seed: number, count: number, degrees: readonly number[]): Pipeline {
  const random = mulberry(seed)
  const int = (below: number): number => Math.floor(random() * below)
  const names = Array.from({ length: count }, (_, index) => `n${index}`)
  const states: Record<string, StateInput> = {}
  const nodes: Record<string, NodeInput> = {}
  names.forEach((name, index) => {
    const shared = index > 0 && int(6) === 0
    const own = shared ? `c${index - 1}` : `c${index}`
    states[own] ??= { sizeBytes: (1 + int(4)) * 2 ** 30, moveMs: 2 + int(4), initial: 'empty' }
    const base = 10 + int(120)
    const tax = 0.05 + random() * 0.4
    const times = Object.fromEntries(
      degrees.map((degree) => [
        degree,
        Math.round((100 * base * (1 + tax * Math.log2(degree))) / degree) / 100,
      ]),
    )
    nodes[name] = {
      reads: [own],
      writes: [own],
      timesMs: times,
      parallel: ['sequence'],
      memoryGiB: 4 + int(16),
    }
  })
  const edges = names.slice(1).flatMap((name, at) => {
    const index = at + 1
    const from = new Set([names[Math.max(0, index - 1 - int(3))]!])
    if (int(3) === 0) from.add(names[int(index)]!)
    return [...from].map((source) => ({
      from: source,
      to: name,
      mode: 'streaming' as const,
      transferMs: 1 + int(4),
    }))
  })
  return definePipeline({
    name: `layered-${seed}`,
    states,
    nodes,
    edges,
    entries: [names[0]!],
    outputs: [{ node: names.at(-1)! }],
  })
}
