/**
 * A pipeline with one of everything the interpreter must get right: request-, batch- and event-rate nodes, a nested graph,
 * private and given states, several outputs with several chunks. Written three times: as a graph, as nodes, as a plain
 * program that knows of neither.
 */
import type { NodeFunction } from '../../../src/deploy/interpreter/implementation.js'
import type { PipelineRequest } from '../../../src/deploy/interpreter/interpret.js'
import type { PipelineInput } from '../../../src/deploy/ir/schema.js'

type Numbers = number[]

export function sceneGraph(): PipelineInput {
  return {
    name: 'talking-scene',
    chunksPerBatch: 3,
    states: { prompt: { initial: 'given', moveMs: 1 }, tts_cache: { initial: 'empty' } },
    nodes: {
      asr: { kind: 'operation', runs: 'request' },
      llm: { kind: 'operation', runs: 'request' },
      scene: { kind: 'operation', runs: 'event', writes: ['prompt'] },
      tts: { kind: 'operation', reads: ['tts_cache'], writes: ['tts_cache'] },
      s2v: {
        kind: 'graph',
        states: {
          kv1: { initial: 'empty' },
          kv2: { initial: 'empty' },
          vae_cache: { initial: 'empty' },
        },
        nodes: {
          dit1: { kind: 'operation', reads: ['kv1', 'prompt'], writes: ['kv1'] },
          dit2: { kind: 'operation', reads: ['kv2'], writes: ['kv2'] },
          vae: { kind: 'operation', reads: ['vae_cache'], writes: ['vae_cache'] },
        },
        edges: [
          { from: 'dit1', to: 'dit2', mode: 'streaming' },
          { from: 'dit2', to: 'vae', mode: 'streaming' },
        ],
      },
      mix: { kind: 'operation' },
    },
    edges: [
      { from: 'asr', to: 'llm', mode: 'blocking' },
      { from: 'llm', to: 'tts', mode: 'blocking' },
      { from: 'tts', to: 's2v', mode: 'streaming' },
      { from: 'tts', to: 'mix', mode: 'streaming' },
      { from: 's2v', to: 'mix', mode: 'streaming' },
    ],
    entries: ['asr', 'scene'],
    outputs: [
      { node: 's2v', chunks: 2 },
      { node: 'mix', chunks: 1 },
    ],
  }
}

const mixUp = (values: Numbers, weight: number, before: Numbers | undefined): Numbers =>
  values.map((x, i) => Math.tanh(weight * x + 0.4 * (before?.[i] ?? 0)))

/** The nodes, each from what it may see alone. */
export function sceneNodes(): Record<string, NodeFunction> {
  return {
    asr: ({ input }) => ({ output: (input as Numbers).map((x) => Math.round(50 * x)) }),
    llm: ({ inputs }) => ({ output: [...(inputs.asr as Numbers), 7, 9] }),
    scene: ({ input }) => ({ output: null, state: { prompt: input } }),
    tts: ({ inputs, state }) => {
      const at = (state.tts_cache as number | undefined) ?? 0
      const answer = inputs.llm as Numbers
      const output = [answer[at]! / 10, answer[at]! / 20, 0.5]
      return { output, state: { tts_cache: at + 1 }, last: at + 1 === answer.length }
    },
    's2v/dit1': ({ inputs, state }) => {
      const output = mixUp(
        inputs.tts as Numbers,
        state.prompt as number,
        state['s2v/kv1'] as Numbers,
      )
      return { output, state: { 's2v/kv1': output } }
    },
    's2v/dit2': ({ inputs, state }) => {
      const output = mixUp(inputs['s2v/dit1'] as Numbers, 1.5, state['s2v/kv2'] as Numbers)
      return { output, state: { 's2v/kv2': output } }
    },
    's2v/vae': ({ inputs, state }) => {
      const latent = inputs['s2v/dit2'] as Numbers
      const before = (state['s2v/vae_cache'] as Numbers | undefined) ?? [0, 0, 0]
      const between = latent.map((x, i) => (x + before[i]!) / 2)
      return { output: [between, latent], state: { 's2v/vae_cache': latent } }
    },
    mix: ({ inputs }) => {
      const [, frame] = inputs['s2v/vae'] as Numbers[]
      return { output: { sound: inputs.tts, loudest: Math.max(...frame!) } }
    },
  }
}

export const SCENE_GIVEN = { prompt: 0.8 }

/** The plain program: loops and local variables. */
export function sceneReference(request: PipelineRequest): unknown[] {
  const shown: unknown[] = []
  const answer = [...(request.request as Numbers).map((x) => Math.round(50 * x)), 7, 9]
  let prompt = SCENE_GIVEN.prompt
  let first: Numbers | undefined
  let second: Numbers | undefined
  let last: Numbers = [0, 0, 0]
  for (let batch = 0; batch < answer.length; batch++) {
    for (const event of request.events ?? [])
      if (event.batch === batch) prompt = event.input as number
    const sound = [answer[batch]! / 10, answer[batch]! / 20, 0.5]
    first = mixUp(sound, prompt, first)
    second = mixUp(first, 1.5, second)
    const frame = second
    shown.push(
      frame.map((x, i) => (x + last[i]!) / 2),
      frame,
      { sound, loudest: Math.max(...frame) },
    )
    last = frame
  }
  return shown
}

export const SCENE_REQUESTS: readonly PipelineRequest[] = [
  { request: [0.1, 0.35, 0.2], events: [{ batch: 2, node: 'scene', input: 0.3 }] },
  { request: [0.4, -0.2] },
  { request: [0.05, 0.6, -0.3, 0.11], events: [{ batch: 1, node: 'scene', input: 1.1 }] },
]
