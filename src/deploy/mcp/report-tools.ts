/**
 * @module
 * Tools that tell what stands and why.
 */
import { z } from 'zod'
import { HorizonError } from '../../core/errors.js'
import { RULES } from '../analysis/rules.js'
import { familyAlphaLeft } from '../gate/family.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { analysisOf, findingName } from '../loop/findings.js'
import { gateOf, type Ledger, type VariantRecord } from '../loop/ledger-state.js'
import { type MeasuredPoint, pilotReport, stageAlpha } from '../loop/measurement.js'
import { paretoFront, realised } from '../loop/rank.js'
import { NEXT_STATES, SETTLED } from '../loop/variant.js'
import { cursorInput, defineTool, nextCursor, offsetOf, READ_ONLY } from './tool.js'

export const statusTool = defineTool({
  name: 'status',
  title: 'State of the loop',
  description:
    'Counts by state, runs driven of the budget, the Pareto front of accepted variants for a GPU budget, and the variants by pages. Only measured and confirmed figures are shown.',
  input: z.strictObject({
    gpus: z.int().min(1).max(4096).default(4096).describe('Pareto front within this budget'),
    cursor: cursorInput,
  }),
  output: z.strictObject({
    name: z.string(),
    states: z.record(z.string(), z.int()),
    runsDriven: z.int(),
    runsAllowed: z.int(),
    stopped: z.string(),
    front: z.array(
      z.strictObject({
        variant: z.string(),
        gpus: z.int(),
        latencyMs: z.number(),
        ratePerSec: z.number(),
        realTimeFactor: z.number().optional(),
      }),
    ),
    variants: z.array(
      z.strictObject({
        id: z.string(),
        state: z.string(),
        target: z.string(),
        gpus: z.int(),
        improvement: z.number().optional(),
      }),
    ),
    nextCursor,
  }),
  annotations: READ_ONLY,
  run: async ({ gpus, cursor }, session) => {
    const ledger = session.loop().ledger()
    const records = [...ledger.variants.values()]
    const states: Record<string, number> = {}
    for (const { variant } of records) states[variant.state] = (states[variant.state] ?? 0) + 1
    const body = {
      name: ledger.name,
      states,
      runsDriven: ledger.runsDriven,
      runsAllowed: ledger.budget.runs,
      stopped:
        ledger.stopped === null ? 'no' : `${ledger.stopped.reason}: ${ledger.stopped.detail}`,
      front: paretoFront(ledger, gpus)
        .slice(0, 12)
        .map(({ variant, point }) => ({
          variant: variant.spec.id,
          gpus: variant.spec.gpus,
          ...point!,
        })),
      variants: records.map((record) => ({
        id: record.variant.spec.id,
        state: record.variant.state,
        target: record.variant.spec.target,
        gpus: record.variant.spec.gpus,
        // Before it is settled an effect is a peek.
        ...(SETTLED.includes(record.variant.state) &&
          record.measurement !== null && { improvement: realised(record) }),
      })),
    }
    return { body, paged: 'variants', from: offsetOf(cursor) }
  },
})

export const explainTool = defineTool({
  name: 'explain',
  title: 'Why something is as it is',
  description:
    "Explains a variant (its history and verdict), a finding, a rule, a node (its states and edges) or the gate ('gate').",
  input: z.strictObject({ topic: z.string().min(1).max(200), cursor: cursorInput }),
  output: z.strictObject({
    topic: z.string(),
    kind: z.string(),
    lines: z.array(z.string()),
    nextCursor,
  }),
  annotations: READ_ONLY,
  run: async ({ topic, cursor }, session) => {
    const ledger = session.loop().ledger()
    const { graph } = session.project().read
    const [kind, lines] = explain(topic, ledger, graph)
    return { body: { topic, kind, lines }, paged: 'lines', from: offsetOf(cursor) }
  },
})

function explain(topic: string, ledger: Ledger, graph: TaskGraph): [string, string[]] {
  const record = ledger.variants.get(topic)
  if (record !== undefined) return ['variant', explainVariant(ledger, record)]
  if (topic === 'gate') return ['gate', explainGate(ledger)]
  if (Object.hasOwn(RULES, topic)) {
    const { id, text } = RULES[topic as keyof typeof RULES]
    return ['rule', [`${id}: ${text}`]]
  }
  const task = graph.tasks.find((item) => item.path === topic)
  if (task !== undefined) return ['node', explainNode(graph, graph.tasks.indexOf(task))]
  const finding = analysisOf(graph).find((item) => findingName(item) === topic)
  if (finding !== undefined) {
    const verdict = finding.legal ? 'legal' : 'refused'
    return [
      'finding',
      [`${verdict}: ${finding.why}`, ...(finding.relieves ? [finding.relieves.text] : [])],
    ]
  }
  throw new HorizonError('ERR_DEPLOY_MCP_TOPIC', 'nothing of that name', {
    field: 'topic',
    expected: "a variant, a finding, a rule, a node, or 'gate'",
    got: topic,
    hint: "'status' lists the variants, 'analyse' the findings",
  })
}

function explainVariant(ledger: Ledger, record: VariantRecord): string[] {
  const { spec, state } = record.variant
  const gate = gateOf(ledger, spec)
  const next = NEXT_STATES[state].join(' or ')
  const stages = (record.measurement?.stages ?? []).map((stage) => {
    const looks = stage.looks.map((look) => `${look.outcome} at ${look.pairs} pairs`).join(', ')
    const alpha =
      stage.stage === 'pilot'
        ? ''
        : `, one-sided level ${stageAlpha(record.measurement!, gate, stage.stage).toPrecision(3)}`
    return `${stage.stage}: ${stage.done.length} of ${stage.pairs} pairs${alpha}${looks && `: ${looks}`}`
  })
  const pilot = record.measurement && pilotReport(record.measurement, gate)
  const needs = (pilot?.metrics ?? []).map(
    (item) =>
      `the pilot's noise: ${item.metric} needs ${item.neededPairs} pairs to show ${100 * gate.detectEffect} %; ${pilot!.pairs} show ${(100 * item.detectable).toFixed(1)} %`,
  )
  return [
    `${state}: ${record.why || spec.title}`,
    `legal by ${spec.finding.rule} (${spec.finding.id}): ${spec.finding.why}`,
    `targets ${spec.bottleneck} for ${spec.target} on ${spec.gpus} GPUs, against ${spec.against}`,
    ...needs,
    ...stages,
    ...(record.point ? [pointText(record.point)] : []),
    next === '' ? 'settled' : `may become ${next}`,
  ]
}

function pointText({ latencyMs, ratePerSec, realTimeFactor }: MeasuredPoint): string {
  const factor =
    realTimeFactor === undefined
      ? ''
      : `, real-time factor ${realTimeFactor} (${realTimeFactor > 1 ? 'a user waits for the stream' : 'keeps up with playback'})`
  return `measured ${latencyMs} ms to first output, ${ratePerSec}/s${factor}`
}

function explainGate(ledger: Ledger): string[] {
  const lines = Object.entries(ledger.gates).map(([target, gate]) => {
    const primary = gate.primary
      .map((metric) => `${metric.sample}.${metric.statistic}`)
      .join(' and ')
    const guards = gate.guards.map(
      ({ metric, margin }) => `${metric.sample}.${metric.statistic} within ${100 * margin} %`,
    )
    const guarded = guards.length > 0 ? `, while ${guards.join(' and ')}` : ''
    return `${target}: ${primary} must improve by more than ${100 * gate.minimumEffect} %${guarded}; family error ${gate.familyAlpha}, pairs ${gate.minPairs} to ${gate.maxPairs}, as many as show ${100 * gate.detectEffect} %`
  })
  const left = [...ledger.measured].map(([family, measured]) => {
    const gate = ledger.gates[family.split('@')[0] as keyof Ledger['gates']]
    return `${family}: ${measured} measured, ${familyAlphaLeft(gate, measured).toPrecision(3)} of ${gate.familyAlpha} left`
  })
  return [...lines, ...left]
}

function explainNode(graph: TaskGraph, index: number): string[] {
  const task = graph.tasks[index]!
  const touching = graph.dependences.filter((edge) => edge.from === index || edge.to === index)
  return [
    `runs per ${task.node.runs}; reads ${task.reads.join(', ') || 'nothing'}; writes ${task.writes.join(', ') || 'nothing'}`,
    ...touching.map(
      (edge) => `${edge.cause}, ${edge.lambda === 1 ? 'next batch' : 'same batch'}: ${edge.why}`,
    ),
  ]
}
