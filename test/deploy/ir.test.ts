import { expect, expectTypeOf, test } from 'vitest'
import { isHorizonError } from '../../src/core/errors.js'
import {
  buildTaskGraph,
  type Pipeline,
  pipeline,
  pipelineJsonSchema,
  readPipeline,
} from '../../src/deploy/index.js'

const worldplay = `name: worldplay
chunksPerBatch: 4
states:
  kv: { sizeBytes: 1000 }
nodes:
  dit: { reads: [kv], writes: [kv], timesMs: { 1: 406, 2: 319 }, parallel: [sequence] }
  vae: { timesMs: 211 }
edges:
  - { from: dit, to: vae, mode: streaming }
entries: [dit]
outputs: [{ node: vae }]
`

/** `u -> v (lambda, cause)` for every dependence. */
function edges(of: Pipeline): string[] {
  const graph = buildTaskGraph(of)
  return graph.dependences.map(
    (edge) =>
      `${graph.tasks[edge.from]!.path} -> ${graph.tasks[edge.to]!.path} (${edge.lambda}, ${edge.cause})`,
  )
}

function errorOf(run: () => unknown): { code: string; message: string } {
  try {
    run()
  } catch (error) {
    if (isHorizonError(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('nothing was thrown')
}

test('a YAML file and the builder give the same pipeline', () => {
  const built = pipeline()
    .state('kv', { sizeBytes: 1000 })
    .operation('dit', {
      reads: ['kv'],
      writes: ['kv'],
      timesMs: { 1: 406, 2: 319 },
      parallel: ['sequence'],
    })
    .operation('vae', { timesMs: 211 })
    .stream('dit', 'vae')
    .build('worldplay', { chunksPerBatch: 4, entries: ['dit'], outputs: [{ node: 'vae' }] })
  expect(readPipeline(worldplay).pipeline).toEqual(built)
  expect(JSON.parse(JSON.stringify(built))).toEqual(built)
})

test('the compiler refuses names that were not declared', () => {
  const one = pipeline()
    .state('kv')
    .operation('dit', { reads: ['kv'], writes: ['kv'] })
  expectTypeOf(one.stream).parameter(0).toEqualTypeOf<'dit' | `dit/${string}`>()
  // @ts-expect-error there is no node 'vae'
  one.stream('dit', 'vae')
  // @ts-expect-error there is no state 'cache'
  one.operation('vae', { reads: ['cache'] })
})

test('a cache that a node reads and writes makes a self edge across batches', () => {
  expect(edges(readPipeline(worldplay).pipeline)).toEqual([
    'dit -> vae (0, data)',
    'dit -> dit (1, state)',
  ])
})

test('one cache under all denoising steps ties the last step to the first step of the next batch', () => {
  const steps = pipeline()
    .state('kv')
    .operation('a', { reads: ['kv'], writes: ['kv'] })
    .operation('b', { reads: ['kv'], writes: ['kv'] })
    .stream('a', 'b')
    .build('shared', { entries: ['a'], outputs: [{ node: 'b' }] })
  expect(edges(steps)).toEqual(['a -> b (0, data)', 'b -> a (1, state)', 'a -> b (0, state)'])
  expect(buildTaskGraph(steps).clusters).toEqual([0, 0])
})

test('two readers of one state share no edge; a reader after the writer holds back the next write', () => {
  const shared = pipeline()
    .state('reference', { initial: 'given' })
    .state('memory', { moveMs: 3 })
    .operation('w', { reads: ['reference'], writes: ['memory'] })
    .operation('r', { reads: ['reference', 'memory'] })
    .stream('w', 'r')
    .build('shared', { entries: ['w'], outputs: [{ node: 'r' }] })
  const graph = buildTaskGraph(shared)
  expect(edges(shared)).toEqual([
    'w -> r (0, data)',
    'w -> r (0, state)',
    'r -> w (1, state)',
    'w -> w (1, state)',
  ])
  expect(graph.dependences.map((edge) => edge.costMs)).toEqual([undefined, 3, 0, 0])
  expect(graph.clusters).toEqual([0, 1])
})

test('a blocking edge between batch-rate nodes hands over: no overlap across batches', () => {
  const blocked = pipeline()
    .operation('a', {})
    .operation('b', {})
    .block('a', 'b')
    .build('blocked', { entries: ['a'], outputs: [{ node: 'b' }] })
  expect(edges(blocked)).toEqual(['a -> b (0, data)', 'b -> a (1, handover)'])
})

test('nested graphs: edges to a graph go to its sources, states are looked up outward', () => {
  const nested = pipeline()
    .state('kv')
    .operation('tts', {})
    .graph('s2v', {}, (inner) =>
      inner
        .graph('dit', { parallel: ['steps'] }, (steps) =>
          steps
            .state('kv1')
            .operation('one', { reads: ['kv1'], writes: ['kv1'] })
            .operation('two', { reads: ['kv'], writes: ['kv'] })
            .stream('one', 'two'),
        )
        .operation('vae', {})
        .stream('dit', 'vae'),
    )
    .stream('tts', 's2v')
    .build('agent', { entries: ['tts'], outputs: [{ node: 's2v' }] })
  expect(edges(nested)).toEqual([
    's2v/dit/one -> s2v/dit/two (0, data)',
    's2v/dit/two -> s2v/vae (0, data)',
    'tts -> s2v/dit/one (0, data)',
    's2v/dit/two -> s2v/dit/two (1, state)',
    's2v/dit/one -> s2v/dit/one (1, state)',
  ])
  const graph = buildTaskGraph(nested)
  expect(graph.tasks.map((task) => task.steps)).toEqual([
    undefined,
    's2v/dit',
    's2v/dit',
    undefined,
  ])
  expect(graph.tasks[graph.outputs[0]!]!.path).toBe('s2v/vae')
})

const broken: readonly (readonly [string, (text: string) => string, string, string])[] = [
  [
    'a dangling edge',
    (text) => text.replace('to: vae', 'to: vea'),
    'ERR_DEPLOY_NODE_UNKNOWN',
    "f.yaml:9: no node 'vea'",
  ],
  [
    'a zero time',
    (text) => text.replace('timesMs: 211', 'timesMs: 0'),
    'ERR_DEPLOY_TIME',
    'f.yaml:7: nodes.vae.timesMs',
  ],
  [
    'a negative time',
    (text) => text.replace('timesMs: 211', 'timesMs: -4'),
    'ERR_DEPLOY_TIME',
    'f.yaml:7: nodes.vae.timesMs',
  ],
  [
    'a zero time at one degree',
    (text) => text.replace('2: 319', '2: 0'),
    'ERR_DEPLOY_TIME',
    'f.yaml:6: nodes.dit.timesMs.2',
  ],
  [
    'a misspelt key',
    (text) => text.replace('timesMs: 211', 'timeMs: 211'),
    'ERR_DEPLOY_SCHEMA',
    'f.yaml:7: nodes.vae.timeMs',
  ],
  [
    'a cycle',
    (text) => text.replace('edges:', 'edges:\n  - { from: vae, to: dit, mode: streaming }'),
    'ERR_DEPLOY_CYCLE',
    'f.yaml:10: data flows in a cycle inside one batch: vae -> dit -> vae',
  ],
  [
    'an unwritten state',
    (text) => text.replace('writes: [kv], ', ''),
    'ERR_DEPLOY_STATE_UNWRITTEN',
    'f.yaml:6: node dit reads state kv before anyone writes it',
  ],
  [
    'an unknown state',
    (text) => text.replace('reads: [kv]', 'reads: [kw]'),
    'ERR_DEPLOY_STATE_UNKNOWN',
    'f.yaml:6: node dit',
  ],
  [
    'parallel times with no parallelism',
    (text) => text.replace(', parallel: [sequence]', ''),
    'ERR_DEPLOY_PARALLEL',
    'f.yaml:6: node dit',
  ],
  [
    'a chunk count that does not add up',
    (text) => text.replace('node: vae', 'node: vae, chunks: 3'),
    'ERR_DEPLOY_OUTPUTS',
    'f.yaml:11: outputs release 3 chunks, but chunksPerBatch is 4',
  ],
  [
    'an unknown entry',
    (text) => text.replace('entries: [dit]', 'entries: [tid]'),
    'ERR_DEPLOY_NODE_UNKNOWN',
    "f.yaml:10: no node 'tid'",
  ],
  ['text that is no YAML', (text) => text.replace('[kv]', '[kv'), 'ERR_DEPLOY_YAML', 'f.yaml:6'],
  ['an empty file', () => '', 'ERR_DEPLOY_SCHEMA', 'f.yaml:1'],
]
test.each(broken)('%s is refused with its line', (_, edit, code, message) => {
  const error = errorOf(() => readPipeline(edit(worldplay), 'f.yaml'))
  expect(error.message).toContain(message)
  expect(error.code).toBe(code)
})

test('the JSON Schema describes nested graphs', () => {
  const schema = JSON.stringify(pipelineJsonSchema())
  expect(schema).toContain('"$ref"')
  expect(schema).toContain('timesMs')
})
