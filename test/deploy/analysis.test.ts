import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  analyze,
  emitMermaid,
  judge,
  RULES,
  readPipeline,
  renderFindings,
  renderSarif,
  type TaskGraph,
  type Transformation,
} from '../../src/deploy/index.js'

function textOf(name: string): string {
  return readFileSync(`examples/pipelines/${name}.yaml`, 'utf8')
}

function graphOf(name: string, edit: (text: string) => string = (text) => text): TaskGraph {
  const before = textOf(name)
  const after = edit(before)
  return readPipeline(after, `${name}.yaml`).graph
}

/** `rule: node, node` for every finding of one verdict. */
function named(graph: TaskGraph, legal: boolean): string[] {
  return analyze(graph)
    .filter((finding) => finding.legal === legal)
    .map((finding) => `${finding.rule}: ${finding.nodes.join(', ')}`)
}

/** What the paper reports for each application (sections 4.1 and 5.2 to 5.3.4), in the words of the rules. */
const REPORTED: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  [
    'face-to-face-agent',
    [
      'stream-edge: tts, s2v/dit/step1',
      'stream-output: s2v',
      'sequence-parallel: s2v/dit/step1',
      'tile-parallel: s2v/vae',
      'co-locate: s2v/dit, s2v/vae',
      'disaggregate: s2v/dit, s2v/vae',
      'disaggregate: tts, s2v',
      'pipeline-batches: s2v/dit, s2v/vae',
      'pipeline-steps: s2v/dit',
    ],
    ['stream-edge: asr, llm', 'stream-edge: llm, tts'],
  ],
  [
    'qwen3-omni',
    [
      'stream-edge: thinker/decode, talker',
      'stream-edge: talker, vocoder',
      'stream-output: vocoder',
      'disaggregate: thinker, talker',
      'disaggregate: talker, vocoder',
      'pipeline-batches: talker, vocoder',
    ],
    [
      'stream-edge: thinker/prefill, thinker/decode',
      'disaggregate: thinker/prefill, thinker/decode',
    ],
  ],
  [
    'background-editor',
    [
      'parallel-branches: dit, sam3',
      'parallel-branches: vae, sam3',
      'sequence-parallel: dit',
      'co-locate: dit, vae',
      'disaggregate: dit, vae',
      'pipeline-batches: dit, vae',
    ],
    [],
  ],
  [
    'worldplay',
    [
      'disaggregate: dit, vae',
      'pipeline-batches: dit, vae',
      'co-locate: dit, vae',
      'sequence-parallel: dit',
      'sequence-parallel: vae',
      'stream-output: vae',
    ],
    [],
  ],
  [
    'longlive',
    [
      'asynchronous: asr',
      'disaggregate: asr, dit',
      'sequence-parallel: dit',
      'tile-parallel: vae',
      'co-locate: dit, vae',
      'pipeline-batches: dit, vae',
    ],
    [],
  ],
  [
    'qwen2_5-omni',
    ['disaggregate: thinker, talker'],
    [
      'stream-edge: thinker, talker',
      'pipeline-batches: thinker, talker',
      'stream-output: token2wav',
    ],
  ],
]

describe.each(REPORTED)('%s', (name, legal, refused) => {
  test('every strategy that the paper reports is found', () => {
    expect(named(graphOf(name), true)).toEqual(expect.arrayContaining([...legal]))
  })
  test('what its edges and states forbid is refused', () => {
    expect(named(graphOf(name), false)).toEqual(expect.arrayContaining([...refused]))
  })
  test('every finding says why, and renders in every format', () => {
    const graph = graphOf(name)
    const findings = analyze(graph)
    for (const finding of findings) {
      expect(finding.why.length).toBeGreaterThan(10)
      expect(finding.id).toBe(RULES[finding.rule].id)
    }
    expect(renderFindings(findings)).toContain('May be done')
    expect(emitMermaid(graph)).toMatch(/^flowchart LR\n/)
  })
})

const NEIGHBOURS: readonly (readonly [
  string,
  string,
  (text: string) => string,
  Transformation,
  string,
])[] = [
  [
    'per-step pipelining with one shared cache',
    'face-to-face-agent',
    (text) => text.replace(/kv[234]\]/g, 'kv1]').replace(/ {10}kv[234]: .*\n/g, ''),
    { rule: 'pipeline-steps', graph: 's2v/dit' },
    'share state s2v/dit/kv1, which is written and pinned',
  ],
  [
    'per-step pipelining with one shared cache that could be moved',
    'face-to-face-agent',
    (text) =>
      text
        .replace(/kv[234]\]/g, 'kv1]')
        .replace(/ {10}kv[234]: .*\n/g, '')
        .replace('kv1: { sizeBytes: 4.0e+9 }', 'kv1: { sizeBytes: 4.0e+9, moveMs: 2 }'),
    { rule: 'pipeline-steps', graph: 's2v/dit' },
    's2v/dit/step1 reads state s2v/dit/kv1 in batch j + 1 as s2v/dit/step4 left it',
  ],
  [
    'streaming over a blocking edge',
    'face-to-face-agent',
    (text) =>
      text.replace('from: tts, to: s2v, mode: streaming', 'from: tts, to: s2v, mode: blocking'),
    { rule: 'stream-edge', from: 'tts', to: 's2v' },
    'is blocking: s2v needs the whole output of tts',
  ],
  [
    'pipelining over a blocking edge',
    'worldplay',
    (text) => text.replace('mode: streaming', 'mode: blocking'),
    { rule: 'pipeline-batches', nodes: ['dit', 'vae'] },
    'dit starts its next batch when vae is done with this one',
  ],
  [
    'splitting nodes that share state in one batch',
    'worldplay',
    (text) => text.replaceAll('vae_cache]', 'dit_kv]'),
    { rule: 'disaggregate', nodes: ['dit', 'vae'] },
    'share state dit_kv, which is written and pinned to one group',
  ],
  [
    'running branches at once that one state orders',
    'background-editor',
    (text) => text.replaceAll('[track]', '[dit_kv]').replace('dit_kv: {', 'dit_kv: { moveMs: 1,'),
    { rule: 'parallel-branches', nodes: ['dit', 'sam3'] },
    'state dit_kv orders them',
  ],
  [
    'an asynchronous node that the stream waits for',
    'longlive',
    (text) => text.replace('to: dit, mode: streaming', 'to: dit, mode: blocking'),
    { rule: 'asynchronous', node: 'asr' },
    'the stream waits for every event',
  ],
  [
    'sequence parallelism of a node that does not allow it',
    'background-editor',
    (text) => text,
    { rule: 'sequence-parallel', node: 'sam3' },
    "sam3 does not list 'sequence'",
  ],
  [
    'splitting nodes that share a pinned cache',
    'background-editor',
    (text) => text.replaceAll('vae_cache]', 'dit_kv]'),
    { rule: 'disaggregate', nodes: ['dit', 'vae'] },
    'share state dit_kv, which is written and pinned to one group',
  ],
  [
    'showing chunks of an output that comes as a whole',
    'worldplay',
    (text) => text.replace('{ node: vae }', '{ node: vae, mode: blocking }'),
    { rule: 'stream-output', node: 'vae' },
    'nothing is shown before the request is complete',
  ],
  [
    'pipelining over batches with a node that runs on events',
    'longlive',
    (text) => text,
    { rule: 'pipeline-batches', nodes: ['asr', 'dit'] },
    'asr runs once per event, so it has no next batch',
  ],
]

test.each(NEIGHBOURS)('%s is refused (%s)', (_, name, edit, change, why) => {
  const edited = graphOf(name, edit)
  const found = judge(edited, change)
  expect(found.why).toContain(why)
  expect(found.legal).toBe(false)
  if (edit(textOf(name)) !== textOf(name)) expect(judge(graphOf(name), change).legal).toBe(true)
})

test('two readers of one given state share it without an edge', () => {
  const { graph } = readPipeline(`
name: readers
states: { weights: { sizeBytes: 1000, initial: given } }
nodes:
  a: { reads: [weights] }
  b: { reads: [weights] }
edges: [{ from: a, to: b, mode: streaming }]
entries: [a]
outputs: [{ node: b }]
`)
  expect(judge(graph, { rule: 'share-read', nodes: ['a', 'b'] })).toMatchObject({
    legal: true,
    states: ['weights'],
  })
  expect(judge(graph, { rule: 'disaggregate', nodes: ['a', 'b'] }).why).toContain(
    'each group keeps a copy',
  )
})

test('SARIF carries rule ids, stable fingerprints and lines of the file', () => {
  const { graph, locate } = readPipeline(textOf('longlive'), 'longlive.yaml')
  const sarif = renderSarif(analyze(graph), '1.2.3', { file: 'longlive.yaml', locate }) as {
    version: string
    runs: {
      tool: { driver: { rules: { id: string }[] } }
      results: {
        ruleId: string
        partialFingerprints: Record<string, string>
        locations: { physicalLocation: { region: { startLine: number } } }[]
      }[]
    }[]
  }
  const [run] = sarif.runs
  expect(sarif.version).toBe('2.1.0')
  const ids = run!.tool.driver.rules.map((rule) => rule.id)
  const prints = run!.results.map((result) => result.partialFingerprints['horizonserve/v1'])
  expect(new Set(prints).size).toBe(prints.length)
  for (const result of run!.results) expect(ids).toContain(result.ruleId)
  const lines = textOf('longlive').split('\n')
  const edge = run!.results.find(
    (result) => result.partialFingerprints['horizonserve/v1'] === 'HSD101:asr|dit',
  )
  expect(lines[edge!.locations[0]!.physicalLocation.region.startLine - 1]).toContain(
    'from: asr, to: dit',
  )
})
