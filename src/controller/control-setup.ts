/**
 * @module
 * What a controller is made of, from a checked configuration: the core scheduler, the rules of the table, the class descriptions.
 * A plain record, so that it can be handed to the doorbell worker.
 */
import { MAX_WIRE_CLASSES } from '../adapters/layout.js'
import type { EstimateOptions } from '../core/index.js'
import {
  createScheduler,
  HorizonError,
  type LadderSpec,
  type Policy,
  type Scheduler,
} from '../core/index.js'
import {
  edfPolicy,
  feasibleEdfPolicy,
  horizonPolicy,
  literalPolicy,
  requestProfiler,
  strictPriorityPolicy,
  vanillaPolicy,
} from '../policies/index.js'
import { type ClassDescription, describeClasses } from './class-descriptions.js'
import { type NamedPolicy, type PublishedRules, publishedRules } from './published-rules.js'

/** One class of requests: who it is, what it is promised, what it costs. */
export interface ControlClass extends ClassDescription {
  readonly path: 'short' | 'long'
  readonly sloMs: number
  readonly priority: number
}

/** Everything that decides; numbers and strings alone. */
export interface ControlPlan {
  readonly classes: readonly ControlClass[]
  readonly policy: NamedPolicy
  readonly ladder?: LadderSpec
  readonly estimates?: Partial<EstimateOptions>
}

/** A plan made live. */
export interface ControlSetup {
  readonly scheduler: Scheduler
  /** `undefined` for a policy that needs lockstep. */
  readonly rules: PublishedRules | undefined
  readonly descriptions: string
}

/** @throws `ERR_CONTROLLER_CLASSES`, `ERR_CONTROLLER_POLICY`, and what the core and the policies throw. */
export function buildControl(plan: ControlPlan): ControlSetup {
  if (plan.classes.length > MAX_WIRE_CLASSES) {
    throw new HorizonError('ERR_CONTROLLER_CLASSES', 'too many classes to publish to an engine', {
      field: 'classes',
      expected: `at most ${MAX_WIRE_CLASSES}`,
      got: plan.classes.length,
    })
  }
  const scheduler = createScheduler({
    classes: plan.classes.map(({ name, path, sloMs, priority }) => ({
      name,
      path,
      sloMs,
      priority,
    })),
    profiler: requestProfiler(plan.classes),
    policy: policyOf(plan.policy),
    ...(plan.ladder === undefined ? {} : { ladder: plan.ladder }),
    ...(plan.estimates === undefined ? {} : { estimates: plan.estimates }),
  })
  return {
    scheduler,
    rules: publishedRules(plan.policy),
    descriptions: describeClasses(plan.classes),
  }
}

function policyOf({ name, options = {} }: NamedPolicy): Policy {
  switch (name) {
    case 'horizonserve':
      return horizonPolicy(options)
    case 'horizonserve-literal':
      return literalPolicy(options)
    case 'feasible-edf':
      return feasibleEdfPolicy(options)
    case 'edf':
      return edfPolicy()
    case 'strict-priority':
      return strictPriorityPolicy()
    case 'vanilla':
      return vanillaPolicy()
    default:
      throw new HorizonError('ERR_CONTROLLER_POLICY', 'unknown policy', {
        field: 'policy.name',
        expected:
          'horizonserve, horizonserve-literal, feasible-edf, edf, strict-priority or vanilla',
        got: name,
      })
  }
}
