import { definePipeline } from '../../../src/deploy/ir/builder.js'
import type { Pipeline } from '../../../src/deploy/ir/pipeline.js'
import type { NodeInput, StateInput } from '../../../src/deploy/ir/schema.js'
import { mulberry } from './mulberry.js'

export interface RandomPipelineOptions {
  readonly nodes: number
  readonly degrees: readonly number[]
  readonly once?: boolean
  readonly hardware?: readonly string[]
  /** Only edges inside a batch and self edges: what a linear program can say without multiplying T by lambda paths. */
  readonly plain?: boolean
  /** Two nodes release chunks, one each. */
  readonly twoOutputs?: boolean
  /** States that take no memory and can be moved. */
  readonly stateless?: boolean
}

/** A random pipeline with state, lags, memory and sublinear speed-up. */
export function randomPipeline(seed: number, options: RandomPipelineOptions): Pipeline {
  const random = mulberry(seed)
  const int = (below: number): number => Math.floor(random() * below)
  const names = Array.from({ length: options.nodes }, (_, index) => `n${index}`)
  const states: Record<string, StateInput> = {}
  const nodes: Record<string, NodeInput> = {}
  const touch: Record<string, { reads: string[]; writes: string[] }> = {}
  for (const name of names) touch[name] = { reads: [], writes: [] }
  if (options.plain !== true)
    for (let index = int(3); index > 0; index -= 1) {
      const state = `s${index}`
      states[state] = {
        initial: 'empty',
        ...((options.stateless || int(3) > 0) && { moveMs: int(6) }),
        sizeBytes: options.stateless ? 0 : int(4) * 2 ** 32,
      }
      for (const name of names)
        if (int(2) === 0) {
          if (int(2) === 0) touch[name]!.reads.push(state)
          if (int(2) === 0) touch[name]!.writes.push(state)
        }
    }
  names.forEach((name, index) => {
    const kinds = options.hardware ?? ['any']
    const base = 4 + int(60)
    const times: Record<string, Record<string, number>> = {}
    for (const kind of kinds) {
      const factor = 0.7 + random() * 0.6
      times[kind] = {}
      for (const degree of options.degrees) {
        if (degree > 1 && int(4) === 0) continue
        const overhead = 1 + 0.4 * random() * (degree - 1)
        times[kind][degree] = Math.round((100 * (base * factor * overhead)) / degree) / 100
      }
      times[kind][1] ??= base
    }
    const once = options.once === true && index === 0 && int(2) === 0
    nodes[name] = {
      timesMs: times,
      parallel: ['sequence'],
      memoryGiB: int(5) * 4,
      ...touch[name],
      ...(once && { runs: int(2) === 0 ? ('request' as const) : ('event' as const) }),
    }
  })
  const edges = []
  for (let to = 1; to < names.length; to += 1) {
    const before = names.slice(0, to).filter(() => random() < 0.5)
    if (before.length === 0) before.push(names[int(to)]!)
    for (const from of before)
      edges.push({
        from,
        to: names[to]!,
        mode: options.plain || int(5) > 0 ? ('streaming' as const) : ('blocking' as const),
        transferMs: int(3) * int(5),
      })
  }
  const two = options.twoOutputs === true && names.length > 1
  return definePipeline({
    name: `random-${seed}`,
    chunksPerBatch: two ? 2 : 1 + int(3),
    states,
    nodes,
    edges,
    entries: [names[0]!],
    outputs: two
      ? [
          { node: names.at(-2)!, chunks: 1 },
          { node: names.at(-1)!, chunks: 1 },
        ]
      : [{ node: names.at(-1)! }],
  })
}
