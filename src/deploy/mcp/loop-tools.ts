/**
 * @module
 * Tools of the measured loop. None takes a measurement from the caller: `record` says which step was reached, and the loop
 * verifies and measures by itself.
 */
import { z } from 'zod'
import { HorizonError } from '../../core/errors.js'
import { variantSpecSchema } from '../loop/events.js'
import { interpretProject } from '../loop/interpret-project.js'
import { recordOf } from '../loop/ledger-state.js'
import type { MeasuredLoop } from '../loop/measured-loop.js'
import { rankOpen } from '../loop/rank.js'
import type { VariantSpec } from '../loop/variant.js'
import { APPENDS, cursorInput, defineTool, nextCursor, offsetOf, READ_ONLY } from './tool.js'

const nextOutput = z.strictObject({
  do: z.enum(['implement', 'verify', 'measure', 'propose', 'nothing']),
  variant: z.string().optional(),
  why: z.string(),
})

export const interpretTool = defineTool({
  name: 'interpret',
  title: 'Compare the IR with the reference',
  description:
    'Runs the pipeline node by node (the node program of loop.yaml) and compares every chunk with the reference backend: in order, reversed and interleaved. Do this before analysing: an IR that is wrong justifies nothing.',
  input: z.strictObject({
    requests: z.int().min(1).max(1000).default(3).describe('At most so many requests'),
  }),
  output: z.strictObject({
    equal: z.boolean(),
    requests: z.int(),
    chunks: z.int(),
    departure: z
      .strictObject({
        request: z.int(),
        schedule: z.string(),
        at: z.string(),
        expected: z.string(),
        got: z.string(),
      })
      .optional(),
    next: z.string(),
  }),
  annotations: { ...READ_ONLY, idempotentHint: false },
  run: async ({ requests }, session) => {
    const report = await interpretProject(session.root, session.project(), requests)
    const next = report.equal
      ? "The IR computes what the reference computes: call 'analyse'"
      : report.departure?.schedule === 'in order'
        ? 'Look at the node that makes this element: an edge, a read or a write is missing or wrong'
        : 'State outlives a request or is shared between requests: declare it as a state, or reset it'
    return { body: { ...report, next } }
  },
})

const proposal = variantSpecSchema.pick({ id: true, title: true, gpus: true }).extend({
  finding: z.string().min(1).max(200).describe("Id of a legal finding, as 'analyse' gives it"),
  target: variantSpecSchema.shape.target.optional(),
  bottleneck: variantSpecSchema.shape.bottleneck.optional(),
  against: variantSpecSchema.shape.against
    .default('reference')
    .describe("'reference' or an accepted variant it builds on"),
  parts: variantSpecSchema.shape.parts.default([]).describe('Variants it combines'),
  expectedGain: variantSpecSchema.shape.expectedGain
    .default(null)
    .describe('Predicted share of time saved, for ranking'),
})

export const proposeTool = defineTool({
  name: 'propose',
  title: 'Propose variants',
  description:
    "Adds variants to the queue: 'seed' takes them from the analysis, 'variant' is one of your own, which must name the legal finding that justifies it.",
  input: z.strictObject({
    seed: z
      .strictObject({
        rules: z.array(z.string().max(40)).max(20).optional(),
        limit: z.int().min(1).max(100).default(10),
      })
      .optional(),
    variant: proposal.optional(),
  }),
  output: z.strictObject({ proposed: z.array(z.string()), next: nextOutput }),
  annotations: APPENDS,
  run: async ({ seed, variant }, session) => {
    if ((seed === undefined) === (variant === undefined)) {
      throw new HorizonError('ERR_DEPLOY_MCP_ARGUMENTS', "give either 'seed' or 'variant'", {
        field: 'arguments',
      })
    }
    const loop = session.loop()
    const proposed =
      variant === undefined
        ? loop.seed({ limit: seed!.limit, ...(seed!.rules && { rules: seed!.rules }) })
        : [proposeOne(loop, variant, session.project().project.findings)]
    return { body: { proposed, next: loop.next() } }
  },
})

export const recordTool = defineTool({
  name: 'record',
  title: 'Take a variant a step further',
  description:
    "implement: makes the variant's workspace, where you then write it. verify: drives it and the reference with the same inputs and compares all outputs. measure: runs the gate for up to maxSeconds; call again until the state is no longer 'measuring' ('refused': the pilot shows that this machine is too noisy for the pairs that are allowed). withdraw: takes it out, with a reason. Numbers are never taken from you.",
  input: z.strictObject({
    variant: variantSpecSchema.shape.id,
    step: z.enum(['implement', 'verify', 'measure', 'withdraw']),
    reason: z.string().min(10).max(1000).optional().describe('Why, for withdraw'),
    maxSeconds: z
      .number()
      .positive()
      .max(3600)
      .default(40)
      .describe('Below the time limit of your client'),
  }),
  output: z.strictObject({
    variant: z.string(),
    state: z.string(),
    why: z.string(),
    workspace: z.string().optional(),
    stage: z.string().optional(),
    pairsDone: z.int().optional(),
    pairsPlanned: z.int().optional(),
    next: nextOutput,
  }),
  annotations: APPENDS,
  run: async ({ variant, step, reason, maxSeconds }, session) => {
    const loop = session.loop()
    const more = await takeStep(loop, variant, step, reason, maxSeconds)
    const { variant: now, why } = recordOf(loop.ledger(), variant)
    return { body: { variant, state: now.state, why, ...more, next: loop.next() } }
  },
})

export const nextTool = defineTool({
  name: 'next',
  title: 'What to do next',
  description:
    'The step to record next, and the ranking of all open variants. The ranking changes with every outcome; the loop is over when every variant was measured or withdrawn.',
  input: z.strictObject({ cursor: cursorInput }),
  output: z.strictObject({
    next: nextOutput,
    workspace: z.string().optional(),
    open: z.array(z.strictObject({ id: z.string(), score: z.number(), why: z.string() })),
    nextCursor,
  }),
  annotations: READ_ONLY,
  run: async ({ cursor }, session) => {
    const loop = session.loop()
    const next = loop.next()
    const workspace = 'variant' in next &&
      next.do !== 'implement' && { workspace: loop.workspaceOf(next.variant) }
    return {
      body: { next, ...workspace, open: rankOpen(loop.ledger()) },
      paged: 'open',
      from: offsetOf(cursor),
    }
  },
})

async function takeStep(
  loop: MeasuredLoop,
  variant: string,
  step: 'implement' | 'verify' | 'measure' | 'withdraw',
  reason: string | undefined,
  maxSeconds: number,
): Promise<Record<string, unknown>> {
  switch (step) {
    case 'implement':
      return loop.implement(variant)
    case 'verify': {
      await loop.verify(variant)
      return {}
    }
    case 'measure':
      return { ...(await loop.measure(variant, { maxMs: 1000 * maxSeconds })) }
    case 'withdraw': {
      if (reason === undefined) {
        throw new HorizonError('ERR_DEPLOY_MCP_ARGUMENTS', 'a withdrawal needs a reason', {
          field: 'reason',
          expected: 'why nobody needs to measure it, in a sentence',
        })
      }
      loop.withdraw(variant, reason)
      return {}
    }
  }
}

function proposeOne(
  loop: MeasuredLoop,
  given: z.output<typeof proposal>,
  findings: readonly {
    readonly id: string
    readonly rule: string
    readonly why: string
    readonly bottleneck: string
    readonly target: VariantSpec['target']
  }[],
): string {
  const found = findings.find((item) => item.id === given.finding)
  const combined = given.parts.length > 1
  loop.propose({
    id: given.id,
    title: given.title,
    finding: {
      id: given.finding,
      rule: found?.rule ?? 'combination',
      why:
        found?.why ??
        (combined ? `combines ${given.parts.join(' and ')}` : 'not found by the analysis'),
    },
    bottleneck: given.bottleneck ?? found?.bottleneck ?? given.finding,
    target: given.target ?? found?.target ?? 'both',
    gpus: given.gpus,
    against: given.against,
    parts: given.parts,
    source: 'agent',
    expectedGain: given.expectedGain,
  })
  return given.id
}
