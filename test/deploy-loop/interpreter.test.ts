import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isHorizonError } from '../../src/core/errors.js'
import { checkAgainstReference } from '../../src/deploy/interpreter/check-against-reference.js'
import type { NodeFunction } from '../../src/deploy/interpreter/implementation.js'
import { type InterpretOptions, interpret } from '../../src/deploy/interpreter/interpret.js'
import { nodeFunctions } from '../../src/deploy/interpreter/node-functions.js'
import { nodeProgram } from '../../src/deploy/interpreter/node-program.js'
import { buildTaskGraph } from '../../src/deploy/ir/build-task-graph.js'
import { definePipeline } from '../../src/deploy/ir/builder.js'
import { readPipeline } from '../../src/deploy/ir/read-pipeline.js'
import {
  SCENE_GIVEN,
  SCENE_REQUESTS,
  sceneGraph,
  sceneNodes,
  sceneReference,
} from './support/talking-scene.js'

type Draft = ReturnType<typeof editable>
type Nodes = Record<string, NodeFunction>

/** A copy of the graph that a mistake may be made in, with its nested graph at hand. */
function editable() {
  // biome-ignore lint/suspicious/noExplicitAny: a mistake is made in plain data, before any type has seen it
  const graph = structuredClone(sceneGraph()) as any
  return { graph, nodes: graph.nodes, s2v: graph.nodes.s2v, inner: graph.nodes.s2v.nodes }
}

async function check(spoil: (draft: Draft, nodes: Nodes) => void, options: InterpretOptions = {}) {
  const draft = editable()
  const nodes = sceneNodes()
  spoil(draft, nodes)
  const graph = buildTaskGraph(definePipeline(draft.graph))
  const bound = nodeFunctions(graph, nodes)
  const given = options.given ?? SCENE_GIVEN
  return await checkAgainstReference(graph, bound, sceneReference, SCENE_REQUESTS, {
    maxBatches: 20,
    given,
  })
}

/** Wraps a node: what it returned, changed. */
function patch(
  nodes: Nodes,
  name: string,
  change: (result: Awaited<ReturnType<NodeFunction>>, call: Parameters<NodeFunction>[0]) => unknown,
): void {
  const before = nodes[name]!
  nodes[name] = async (call) =>
    change(await before(call), call) as Awaited<ReturnType<NodeFunction>>
}

/** Each mistake, and how it shows: refused before it runs, a broken annotation, or other outputs. */
const MISTAKES: readonly [
  string,
  'graph' | 'annotation' | 'outputs',
  (draft: Draft, nodes: Nodes) => void,
][] = [
  ['a state write is not declared', 'annotation', ({ nodes }) => (nodes.tts.writes = [])],
  [
    'a declared state is never written',
    'annotation',
    (_, nodes) => patch(nodes, 's2v/vae', (r) => ({ ...r, state: {} })),
  ],
  ['a state read is not declared', 'outputs', ({ inner }) => (inner.dit1.reads = ['prompt'])],
  [
    'two steps share one cache',
    'annotation',
    ({ inner }) => Object.assign(inner.dit2, { reads: ['kv1'], writes: ['kv1'] }),
  ],
  [
    'the cache written is the one that was read',
    'outputs',
    (_, nodes) =>
      patch(nodes, 's2v/dit2', (r, call) => ({
        ...r,
        state: { 's2v/kv2': call.state['s2v/kv2'] ?? [0, 0, 0] },
      })),
  ],
  [
    'two edges are swapped: the steps run in the wrong order',
    'annotation',
    ({ s2v }) =>
      (s2v.edges = [
        { from: 'dit2', to: 'dit1', mode: 'streaming' },
        { from: 'dit1', to: 'vae', mode: 'streaming' },
      ]),
  ],
  ['an edge is missing', 'outputs', ({ graph }) => graph.edges.splice(3, 1)],
  [
    'the decoder is fed by the wrong step',
    'annotation',
    ({ s2v }) =>
      Object.assign(s2v, {
        edges: [
          { from: 'dit1', to: 'dit2', mode: 'streaming' },
          { from: 'dit1', to: 'vae', mode: 'streaming' },
        ],
        outputs: ['vae'],
      }),
  ],
  [
    'data goes round in a cycle',
    'graph',
    ({ s2v }) => s2v.edges.push({ from: 'vae', to: 'dit1', mode: 'streaming' }),
  ],
  [
    'the output is taken before the decoder',
    'annotation',
    ({ graph }) => (graph.outputs[0].node = 's2v/dit2'),
  ],
  ['the output map swaps two outputs', 'outputs', ({ graph }) => graph.outputs.reverse()],
  [
    'the output map counts the chunks of one output wrongly',
    'annotation',
    ({ graph }) => (graph.outputs = [{ node: 's2v', chunks: 3 }]),
  ],
  [
    'speech is made once per request instead of per batch',
    'annotation',
    ({ nodes }) => (nodes.tts.runs = 'request'),
  ],
  [
    'recognition runs per batch instead of once',
    'graph',
    ({ nodes }) => (nodes.asr.runs = 'batch'),
  ],
  [
    'an event is treated as part of every batch',
    'annotation',
    ({ nodes }) => (nodes.scene.runs = 'batch'),
  ],
  [
    'a given state is thought to be empty',
    'graph',
    ({ graph }) => (graph.states.prompt.initial = 'none'),
  ],
  [
    'the wrong node takes the user input',
    'annotation',
    ({ graph }) => (graph.entries = ['llm', 'scene']),
  ],
  ['two nodes run the same operation', 'annotation', ({ inner }) => (inner.dit2.op = 's2v/dit1')],
  [
    'the last chunk is lost',
    'outputs',
    (_, nodes) =>
      patch(nodes, 'tts', (r, call) => ({
        ...r,
        last: (call.inputs.llm as number[]).length - 1 === (r.state!.tts_cache as number),
      })),
  ],
  [
    'a chunk too many is made',
    'outputs',
    (_, nodes) =>
      patch(nodes, 'tts', (r, call) => ({
        ...r,
        last: (call.inputs.llm as number[]).length + 1 === (r.state!.tts_cache as number),
      })),
  ],
  [
    'the request never ends',
    'annotation',
    (_, nodes) => patch(nodes, 'tts', (r) => ({ ...r, output: [1, 2, 3], last: false })),
  ],
  [
    'a cache outlives its request',
    'outputs',
    (_, nodes) => {
      let kept: unknown
      patch(nodes, 's2v/dit2', (r) => r)
      const inner = nodes['s2v/dit2']!
      nodes['s2v/dit2'] = async (call) => {
        const result = await inner({ ...call, state: { 's2v/kv2': kept } })
        kept = result.output
        return result
      }
    },
  ],
  [
    'a cache is shared by requests in flight',
    'outputs',
    (_, nodes) => {
      let kept: unknown
      const inner = nodes['s2v/dit2']!
      nodes['s2v/dit2'] = async (call) => {
        const result = await inner({
          ...call,
          state: { 's2v/kv2': call.batch === 0 ? undefined : kept },
        })
        kept = result.output
        return result
      }
    },
  ],
  [
    'an event is dropped',
    'outputs',
    (_, nodes) => patch(nodes, 'scene', (r) => ({ ...r, state: { prompt: 0.8 } })),
  ],
  [
    'chunks of a batch are reversed',
    'outputs',
    (_, nodes) =>
      patch(nodes, 's2v/vae', (r) => ({ ...r, output: (r.output as unknown[]).toReversed() })),
  ],
  [
    'a chunk is shown twice',
    'outputs',
    (_, nodes) =>
      patch(nodes, 's2v/vae', (r) => ({
        ...r,
        output: [(r.output as unknown[])[1], (r.output as unknown[])[1]],
      })),
  ],
  [
    'a chunk of a batch is missing',
    'annotation',
    (_, nodes) => patch(nodes, 's2v/vae', (r) => ({ ...r, output: [(r.output as unknown[])[1]] })),
  ],
  [
    'the answer is cut short',
    'outputs',
    (_, nodes) =>
      patch(nodes, 'llm', (r) => ({ ...r, output: (r.output as number[]).slice(0, -1) })),
  ],
  [
    'numbers pass through single precision',
    'outputs',
    (_, nodes) =>
      patch(nodes, 's2v/dit1', (r) => ({ ...r, output: (r.output as number[]).map(Math.fround) })),
  ],
  [
    'one element is no number',
    'outputs',
    (_, nodes) =>
      patch(nodes, 'mix', (r) => ({ output: { ...(r.output as object), loudest: Number.NaN } })),
  ],
  [
    'noise is drawn anew on every run',
    'outputs',
    (_, nodes) => {
      let drawn = 0
      patch(nodes, 's2v/dit2', (r) => ({
        ...r,
        output: (r.output as number[]).map((x) => x + 1e-9 * drawn++),
      }))
    },
  ],
  ['a node answers nothing', 'annotation', (_, nodes) => patch(nodes, 'mix', () => ({}))],
  [
    'a node throws',
    'annotation',
    (_, nodes) =>
      patch(nodes, 'mix', () => {
        throw new Error('out of memory')
      }),
  ],
]

describe('the interpreter', () => {
  it('agrees with the reference bit for bit when the graph is right', async () => {
    const report = await check(() => {})
    expect(report).toEqual({ equal: true, requests: 3, chunks: 3 * 3 * (5 + 4 + 6) })
  })

  it.each(MISTAKES)('catches: %s', async (_, caughtAs, spoil) => {
    let seen: string
    try {
      const report = await check(spoil)
      seen = report.equal ? 'nothing' : 'outputs'
    } catch (error) {
      if (!isHorizonError(error)) throw error
      seen = error.code.startsWith('ERR_DEPLOY_INTERPRETER') ? 'annotation' : 'graph'
    }
    expect(seen).toBe(caughtAs)
  })

  it('knows at least twenty mistakes', () => {
    expect(MISTAKES.length).toBeGreaterThanOrEqual(20)
  })

  it('says which request, which schedule and which element differ', async () => {
    const report = await check((_, nodes) =>
      patch(nodes, 's2v/vae', (r) => ({ ...r, output: (r.output as unknown[]).toReversed() })),
    )
    expect(report.departure).toMatchObject({ request: 0, schedule: 'in order', at: '[0][0]' })
  })

  it('allows a difference within a declared tolerance, and no more', async () => {
    const draft = editable()
    const nodes = sceneNodes()
    patch(nodes, 's2v/dit1', (r) => ({ ...r, output: (r.output as number[]).map(Math.fround) }))
    const graph = buildTaskGraph(definePipeline(draft.graph))
    const run = (absolute: number) =>
      checkAgainstReference(graph, nodeFunctions(graph, nodes), sceneReference, SCENE_REQUESTS, {
        given: SCENE_GIVEN,
        tolerances: { '': { absolute, relative: 0 } },
      })
    expect((await run(1e-5)).equal).toBe(true)
    expect((await run(1e-12)).equal).toBe(false)
  })

  it('refuses a graph with a node nobody implements', () => {
    const graph = buildTaskGraph(definePipeline(sceneGraph()))
    expect(() => nodeFunctions(graph, { asr: sceneNodes().asr! })).toThrow(/a node has no function/)
  })
})

describe('the interpreter on a program that speaks JSON lines', () => {
  const folder = new URL('../../examples/face-to-face/', import.meta.url)
  const { graph } = readPipeline(readFileSync(new URL('pipeline.yaml', folder), 'utf8'))
  const cwd = new URL('app/', folder).pathname

  it('interprets the face-to-face example bit for bit', async () => {
    const { faceToFace } = (await import(new URL('app/reference.js', folder).href)) as {
      faceToFace: (request: unknown, hold: () => Promise<void>) => Promise<unknown[]>
    }
    const nodes = nodeProgram({ command: [process.execPath, 'nodes.js'], cwd })
    const requests = [
      { request: { audio: [0.2, 0.9, 0.4], chunks: 6 } },
      { request: { audio: [0.7], chunks: 3 } },
    ]
    const reference = (request: { request?: unknown }) =>
      faceToFace(request.request, async () => {})
    expect(await checkAgainstReference(graph, nodes, reference, requests)).toEqual({
      equal: true,
      requests: 2,
      chunks: 27,
    })
    await nodes.close()
  })

  it('reports an error of the program with its node, and its end with its last words', async () => {
    const nodes = nodeProgram({ command: [process.execPath, 'nodes.js'], cwd })
    await expect(interpret(graph, nodes, { request: 'no audio' })).rejects.toMatchObject({
      code: 'ERR_DEPLOY_INTERPRETER_NODE',
      field: 'asr',
    })
    await nodes.close()
    const crashing = nodeProgram({
      command: [process.execPath, '-e', 'console.error("no model"); process.exit(3)'],
    })
    await expect(interpret(graph, crashing, { request: 1 })).rejects.toThrow(/status 3.*no model/s)
    await crashing.close()
  })
})
