/**
 * @module
 * Tools that need the pipeline alone: is it valid, what may be done to it, where should it run.
 */
import { z } from 'zod'
import { isHorizonError } from '../../core/errors.js'
import { machine } from '../bounds/machine.js'
import { analysisOf, findingName } from '../loop/findings.js'
import { describePlacement } from '../search/explain.js'
import { plan } from '../search/plan.js'
import {
  cursorInput,
  defineTool,
  detailInput,
  nextCursor,
  offsetOf,
  pipelineInput,
  READ_ONLY,
} from './tool.js'

export const validateTool = defineTool({
  name: 'validate',
  title: 'Check the pipeline IR',
  description:
    'Checks the form and the meaning of a pipeline file (names, cycles, states written before they are read, output map). First step after writing or changing the IR.',
  input: z.strictObject({ pipeline: pipelineInput, cursor: cursorInput }),
  output: z.strictObject({
    ok: z.boolean(),
    name: z.string().optional(),
    nodes: z.int().optional(),
    edges: z.int().optional(),
    crossBatchEdges: z.int().optional(),
    states: z.int().optional(),
    issues: z.array(z.string()),
    next: z.string(),
    nextCursor,
  }),
  annotations: READ_ONLY,
  run: async ({ pipeline, cursor }, session) => {
    const from = offsetOf(cursor)
    try {
      const { graph } = session.pipeline(pipeline)
      const body = {
        ok: true,
        name: graph.pipeline.name,
        nodes: graph.tasks.length,
        edges: graph.dependences.filter((edge) => edge.cause === 'data').length,
        crossBatchEdges: graph.dependences.filter((edge) => edge.lambda === 1).length,
        states: graph.states.size,
        issues: [],
        next: "Call 'interpret' to compare it with the reference, then 'analyse'",
      }
      return { body }
    } catch (error) {
      const aboutContent = isHorizonError(error) && !/_(PATH|FILE)$/.test(error.code)
      if (!aboutContent) throw error
      const issues = error.message.split('\n')
      return {
        body: { ok: false, issues, next: 'Correct the lines named and validate again' },
        paged: 'issues',
        from,
      }
    }
  },
})

export const analyseTool = defineTool({
  name: 'analyse',
  title: 'Find legal transformations',
  description:
    'What a deployment may do to the pipeline (stream, disaggregate, co-locate, pipeline, split) and what it may not, with the state or edge that decides. A variant must name one of the legal findings.',
  input: z.strictObject({
    pipeline: pipelineInput,
    legal: z.boolean().optional().describe('Only legal (true) or only refused (false) findings'),
    rule: z.string().max(40).optional().describe("Only this rule, for example 'disaggregate'"),
    detail: detailInput,
    cursor: cursorInput,
  }),
  output: z.strictObject({
    total: z.int(),
    legal: z.int(),
    refused: z.int(),
    findings: z.array(
      z.strictObject({
        id: z.string(),
        legal: z.boolean(),
        relieves: z.enum(['latency', 'period']).optional(),
        upToMs: z.number().optional(),
        rule: z.string().optional(),
        why: z.string().optional(),
        relief: z.string().optional(),
      }),
    ),
    nextCursor,
  }),
  annotations: READ_ONLY,
  run: async ({ pipeline, legal, rule, detail, cursor }, session) => {
    const all = analysisOf(session.pipeline(pipeline).graph)
    const wanted = all
      .filter((finding) => legal === undefined || finding.legal === legal)
      .filter((finding) => rule === undefined || finding.rule === rule)
    const findings = wanted.map((finding) => ({
      id: findingName(finding),
      legal: finding.legal,
      ...(finding.relieves && { relieves: finding.relieves.target }),
      ...(finding.relieves?.upToMs !== undefined && { upToMs: finding.relieves.upToMs }),
      ...(detail === 'full' && {
        rule: `${finding.id} ${finding.rule}`,
        why: finding.why,
        ...(finding.relieves && { relief: finding.relieves.text }),
      }),
    }))
    const numLegal = wanted.filter((finding) => finding.legal).length
    const body = {
      total: wanted.length,
      legal: numLegal,
      refused: wanted.length - numLegal,
      findings,
    }
    return { body, paged: 'findings', from: offsetOf(cursor) }
  },
})

/** What `plan` and `emit` are asked for. */
export const planInput = {
  pipeline: pipelineInput,
  gpus: z.int().min(1).max(1024),
  hardware: z.string().max(200).default('any').describe("Such as 'b200', or 'b200:4,h100:4'"),
  objective: z.enum(['latency', 'rate', 'pareto']).default('pareto'),
  minRatePerSec: z.number().positive().optional(),
  effort: z.int().min(100).max(300_000).default(10_000).describe('Partial placements to look at'),
}

export const planTool = defineTool({
  name: 'plan',
  title: 'Place the pipeline on GPUs',
  description:
    "Best placements for a GPU budget with predicted first-output latency and rate, and how far from optimal they may be. Predictions only: a deployment is accepted by measurement ('record').",
  input: z.strictObject({ ...planInput, cursor: cursorInput }),
  output: z.strictObject({
    plans: z.array(
      z.strictObject({
        objective: z.string(),
        latencyMs: z.number(),
        ratePerSec: z.number(),
        optimal: z.boolean(),
        gap: z.number(),
        placement: z.string(),
        why: z.string(),
      }),
    ),
    missing: z.string().optional(),
    nextCursor,
  }),
  annotations: READ_ONLY,
  run: async ({ pipeline, gpus, hardware, objective, minRatePerSec, effort, cursor }, session) => {
    const { graph, locate } = session.pipeline(pipeline)
    const result = plan(graph, machine({ gpus, hardware }), {
      objective,
      locate,
      nodes: effort,
      ...(minRatePerSec !== undefined && { minRatePerSec }),
    })
    const round = (value: number): number => Number(value.toFixed(3))
    const plans = result.plans.map((item) => ({
      objective: item.objective,
      latencyMs: round(item.latencyMs),
      ratePerSec: round(item.ratePerSec),
      optimal: item.optimal,
      gap: round(item.gap),
      placement: describePlacement(item.placement),
      why: item.why,
    }))
    const missing = result.missing && { missing: result.missing.text }
    return { body: { plans, ...missing }, paged: 'plans', from: offsetOf(cursor) }
  },
})
