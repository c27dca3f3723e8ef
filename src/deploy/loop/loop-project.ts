/**
 * @module
 * What a measured loop works on: the reference, how to start a candidate, the inputs users would send, what counts as equal,
 * and the gates. Built from a project file (`read-loop-project.ts`) or in code.
 */
import type { GateDeclaration } from '../gate/declaration.js'
import type { Backend } from '../harness/backend.js'
import type { Clock } from '../harness/clock.js'
import type { Tolerances } from '../harness/compare.js'
import type { ScriptedRequest } from '../harness/drive.js'
import type { Target } from './variant.js'

/** A transformation that the analysis found legal; the queue is seeded from these, and a variant must name one. */
export interface LegalFinding {
  readonly id: string
  readonly rule: string
  /** Why it is legal, in a sentence. */
  readonly why: string
  readonly bottleneck: string
  readonly target: Target
  /** Fewest GPUs it makes sense on. */
  readonly gpus: number
  /** Predicted share of time saved; null when nobody predicted. */
  readonly expectedGain: number | null
}

export interface LoopProject {
  readonly name: string
  /** Nothing outside it is written. @default `folder` */
  readonly root?: string
  /** Where the journal and the workspaces live; made when missing. */
  readonly folder: string
  readonly gates: Readonly<Record<Target, GateDeclaration>>
  /** Runs that may be driven in all, until the budget is raised. */
  readonly budget: { readonly runs: number }
  readonly findings: readonly LegalFinding[]
  readonly reference: Backend
  /** Digest of the reference's files where they are known; it must not change while the loop runs. */
  readonly referenceDigest: string | null
  /** The backend of a variant, started in its workspace. */
  candidate(id: string, workspace: string): Backend
  /** Folder a workspace starts as a copy of, when the variant builds on the reference. */
  readonly template?: string
  /** Inputs whose outputs are compared before anything is timed. */
  readonly verifyScript: readonly ScriptedRequest[]
  /** Inputs of one timed run. */
  readonly measureScript: readonly ScriptedRequest[]
  readonly tolerances: Tolerances
  /** Media time in one output, for the real-time factor; absent where outputs are no media. */
  readonly mediaMsPerOutput?: number
  /** Untimed runs after a backend started. */
  readonly warmUpRuns: number
  /** Pause between runs, so that one does not heat the next. */
  readonly coolDownMs: number
  /** @default the machine's own */
  readonly clock?: Clock
}

/** The gate of each target, unless declared otherwise: the target's metric must improve, and its tail must not suffer. */
export const DEFAULT_GATES = Object.freeze({
  latency: {
    primary: [{ sample: 'firstOutputMs', statistic: 'median' }],
    guards: [{ metric: { sample: 'firstOutputMs', statistic: 'p95' }, margin: 0.1 }],
  },
  rate: {
    primary: [{ sample: 'ratePerSec', statistic: 'median' }],
    guards: [{ metric: { sample: 'ratePerSec', statistic: 'p95' }, margin: 0.1 }],
  },
  both: {
    primary: [
      { sample: 'firstOutputMs', statistic: 'median' },
      { sample: 'ratePerSec', statistic: 'median' },
    ],
    guards: [{ metric: { sample: 'firstOutputMs', statistic: 'p95' }, margin: 0.1 }],
  },
} as const)
