import { machine } from './src/deploy/bounds/machine.js'
import { buildTaskGraph } from './src/deploy/ir/build-task-graph.js'
import { search } from './src/deploy/search/search.js'
import { unitsOf } from './src/deploy/search/units.js'
import { layeredPipeline } from './test/deploy/support/layered-pipeline.js'
for (let seed = 1; seed <= 5; seed++) for (const kind of ['rate','latency'] as const) {
  const p = layeredPipeline(seed, 30, [1,2,4,8])
  const graph = buildTaskGraph(p); const m = machine({ gpus: 64, memoryGiB: 80 })
  const t = performance.now()
  const units = unitsOf(graph, m)
  const r = search(graph, m, units, { kind }, { nodes: Number(process.argv[2] ?? 50000) })
  const ms = performance.now() - t
  console.log(seed, kind, 'units', units.length, 'edges', graph.dependences.length, ms.toFixed(0)+'ms', r.complete, r.nodes, 'val', r.found[0]?.key.map(x=>x.toFixed(1)).join(' '), 'lower', r.lowerMs.toFixed(2), 'gap', (r.found[0]!.key[0]!/r.lowerMs-1).toFixed(4))
}
