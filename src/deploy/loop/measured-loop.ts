/**
 * @module
 * The loop itself: propose, implement, verify, measure, withdraw. Every step is one or more journal lines, each on the disk
 * before the next begins, so that a process killed at any instant leaves a loop that goes on where it was. There is no step
 * that takes a number from the caller: what is accepted was driven here.
 */
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { HorizonError } from '../../core/errors.js'
import { requireEnoughRequests } from '../gate/declaration.js'
import type { Backend } from '../harness/backend.js'
import type { Clock } from '../harness/clock.js'
import { describeDifference, firstDifference } from '../harness/compare.js'
import { drive, outputsOf, type ScriptedRequest } from '../harness/drive.js'
import { containedPath } from './contained-path.js'
import type { LoopEvent } from './events.js'
import { gateOf, type Ledger, recordOf } from './ledger-state.js'
import { openLedger } from './ledger-writer.js'
import type { LegalFinding, LoopProject } from './loop-project.js'
import { type MeasureProgress, measureVariant } from './measure-variant.js'
import { type NextAction, nextAction } from './next-action.js'
import { combinationsWith, PRIOR_GAIN } from './rank.js'
import {
  inState,
  isIn,
  type NextState,
  REFERENCE,
  SETTLED,
  type Variant,
  type VariantSpec,
  type VariantState,
} from './variant.js'
import { digestOf, makeWorkspace } from './workspace.js'

export interface VerifyReport {
  readonly equal: boolean
  readonly why: string
}

/** Which findings become variants. What could relieve nothing (a gain of 0) never does by itself. */
export interface SeedOptions {
  /** @default all rules */
  readonly rules?: readonly string[]
  /** @default no limit */
  readonly limit?: number
}

export interface MeasuredLoop {
  /** What is true now. */
  ledger(): Ledger
  /** Proposes findings of the analysis that no variant names yet, the most promising first; returns the new ids. */
  seed(options?: SeedOptions): readonly string[]
  propose(spec: VariantSpec): void
  /** Into implementation; returns the workspace, a copy of what the variant builds on. */
  implement(id: string): { readonly workspace: string }
  /** Drives the reference and the candidate with the same inputs and compares every output. */
  verify(id: string): Promise<VerifyReport>
  /** Runs pairs until a verdict, the budget, or `maxMs`. */
  measure(id: string, options?: { readonly maxMs?: number }): Promise<MeasureProgress>
  withdraw(id: string, reason: string): void
  /** Allows more runs after a budget stop. */
  raiseBudget(runs: number, reason: string): void
  next(): NextAction
  workspaceOf(id: string): string
  close(): void
}

/** Opens the project's loop, or begins it. Takes the project's lock until `close`. */
export function openLoop(project: LoopProject): MeasuredLoop {
  const { ledger, record, close } = openLedger(project)
  const folder = realpathSync(project.folder)
  const root = project.root ?? folder
  const variantsFolder = join(folder, 'variants')
  try {
    mkdirSync(containedPath(root, variantsFolder, 'folder'), { recursive: true })
  } catch (error) {
    close()
    throw error
  }
  /** A step that the types allow from the state the variant is known to be in. */
  const move = <S extends VariantState>(
    _from: Variant<S>,
    _to: NextState<S>,
    event: LoopEvent,
  ): void => record(event)
  const workspaceOf = (id: string): string =>
    join(variantsFolder, recordOf(ledger(), id).variant.spec.id)
  const backendOf = (id: string): Backend =>
    id === REFERENCE ? project.reference : project.candidate(id, workspaceOf(id))
  /** What follows from the outcomes so far and is not on record yet; a crash may have come in between. */
  const catchUp = (): void => {
    for (const id of ledger().variants.keys())
      for (const variant of combinationsWith(ledger(), id)) record({ event: 'proposed', variant })
    const all = [...ledger().variants.values()]
    const open = all.some((item) => !SETTLED.includes(item.variant.state))
    if (all.length === 0 || open || ledger().stopped !== null) return
    const detail = `${all.length} variants measured or withdrawn`
    record({ event: 'stopped', reason: 'complete', detail })
  }
  catchUp()
  const answers = referenceAnswers(project)

  const loop: MeasuredLoop = {
    ledger,
    seed: ({ rules, limit } = {}) => {
      const variants = [...ledger().variants.values()]
      const named = new Set(variants.map((item) => item.variant.spec.finding.id))
      const fresh = project.findings
        .filter((found) => !named.has(found.id) && found.expectedGain !== 0)
        .filter((found) => rules === undefined || rules.includes(found.rule))
        .toSorted((a, b) => (b.expectedGain ?? PRIOR_GAIN) - (a.expectedGain ?? PRIOR_GAIN))
      return fresh.slice(0, limit).map((found) => {
        const variant = specOf(found, ledger())
        record({ event: 'proposed', variant })
        return variant.id
      })
    },
    propose: (spec) => {
      requireLegal(spec, project.findings, ledger())
      record({ event: 'proposed', variant: spec })
    },
    implement: (id) => {
      const variant = inState(recordOf(ledger(), id).variant, 'proposed', 'failed-verification')
      const { spec } = variant
      requireEnoughRequests(gateOf(ledger(), spec), project.measureScript.length)
      const template = spec.against === REFERENCE ? project.template : workspaceOf(spec.against)
      const workspace = makeWorkspace(variantsFolder, id, template, root)
      move(variant, 'implementing', { event: 'implementing', id })
      return { workspace }
    },
    verify: async (id) => {
      const variant = inState(recordOf(ledger(), id).variant, 'implementing', 'verifying')
      const digest = digestOf(workspaceOf(id))
      // Interrupted once: its digest is on record, and the files may have changed since.
      if (variant.state === 'verifying' && recordOf(ledger(), id).digest !== digest)
        return fail(id, 'the workspace changed while verification was interrupted')
      if (isIn(variant, 'implementing'))
        move(variant, 'verifying', { event: 'verifying', id, digest })
      const verifying = inState(recordOf(ledger(), id).variant, 'verifying')
      const expected = await answers(project.verifyScript)
      let got: unknown[][]
      try {
        got = await outputsFrom(backendOf(id), project.verifyScript, project.clock)
      } catch (error) {
        return fail(id, error instanceof Error ? error.message : String(error))
      }
      const difference = firstDifference(expected, got, project.tolerances)
      if (difference !== undefined) return fail(id, describeDifference(difference))
      if (digestOf(workspaceOf(id)) !== digest)
        return fail(id, 'the workspace changed while it was being verified')
      const outputs = got.reduce((sum, request) => sum + request.length, 0)
      if (outputs === 0)
        return fail(id, 'neither the reference nor the candidate answered anything')
      const requests = got.length
      move(verifying, 'measuring', { event: 'verified', id, digest, requests, outputs })
      return {
        equal: true,
        why: `${outputs} outputs of ${got.length} requests equal the reference`,
      }
    },
    measure: (id, options = {}) =>
      measureVariant(
        { project, record, ledger, backendOf, workspaceOf, answers, afterSettling: catchUp },
        id,
        options.maxMs ?? Infinity,
      ),
    withdraw: (id, reason) => {
      const open = inState(
        recordOf(ledger(), id).variant,
        'proposed',
        'implementing',
        'verifying',
        'failed-verification',
        'measuring',
      )
      move(open, 'withdrawn', { event: 'withdrawn', id, reason })
      catchUp()
    },
    raiseBudget: (runs, reason) => record({ event: 'budget', budget: { runs }, reason }),
    next: () => nextAction(ledger()),
    workspaceOf,
    close,
  }
  const fail = (id: string, why: string): VerifyReport => {
    const verifying = inState(recordOf(ledger(), id).variant, 'verifying')
    move(verifying, 'failed-verification', {
      event: 'failed-verification',
      id,
      why: why.slice(0, 2000) || 'it failed without a word',
    })
    return { equal: false, why }
  }
  return loop
}

/** Outputs of a backend started for one script. */
async function outputsFrom(
  backend: Backend,
  script: readonly ScriptedRequest[],
  clock: Clock | undefined,
): Promise<unknown[][]> {
  const session = await backend.open()
  try {
    return outputsOf(await drive(session, script, clock))
  } finally {
    await session.close()
  }
}

/** The reference's outputs per script, driven once per process: the reference does not change under us. */
function referenceAnswers(
  project: LoopProject,
): (script: readonly ScriptedRequest[]) => Promise<unknown[][]> {
  const known = new Map<readonly ScriptedRequest[], Promise<unknown[][]>>()
  return async (script) => {
    const before = known.get(script)
    if (before !== undefined) return await before
    const answer = outputsFrom(project.reference, script, project.clock)
    known.set(script, answer)
    answer.catch(() => known.delete(script))
    return await answer
  }
}

/** A variant for a finding, against the reference. */
function specOf(finding: LegalFinding, ledger: Ledger): VariantSpec {
  const base =
    finding.id
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 40) || 'variant'
  let id = base
  for (let i = 2; ledger.variants.has(id) || id === REFERENCE; i++) id = `${base}-${i}`
  const { rule, why, bottleneck, target, gpus, expectedGain } = finding
  return {
    id,
    title: `${rule}: ${finding.id}`.slice(0, 200),
    finding: { id: finding.id, rule, why },
    bottleneck,
    target,
    gpus,
    against: REFERENCE,
    parts: [],
    source: 'analysis',
    expectedGain,
  }
}

/** A proposal must name a finding of the analysis, or combine variants that do. */
function requireLegal(spec: VariantSpec, findings: readonly LegalFinding[], ledger: Ledger): void {
  const known = findings.find((finding) => finding.id === spec.finding.id)
  const combined = spec.parts.length > 1 && spec.parts.every((part) => ledger.variants.has(part))
  if ((known !== undefined && known.rule === spec.finding.rule) || combined) return
  throw new HorizonError(
    'ERR_DEPLOY_LOOP_UNJUSTIFIED',
    'no finding of the analysis makes this legal',
    {
      field: 'finding.id',
      expected:
        findings
          .map((finding) => finding.id)
          .slice(0, 12)
          .join(', ') || 'a finding (the analysis has none)',
      got: spec.finding.id,
      hint: 'Run the analysis; if it forbids the transformation, it says which state or edge does',
    },
  )
}
