/**
 * @module
 * Which policies compile to the published table, and to what. An engine that evaluates the table decides as the core does (the
 * engine suite compares them step by step); a policy that does not compile needs lockstep.
 */
import { FLAG } from '../adapters/layout.js'
import {
  DEFAULT_U_GUARD,
  defaultLongPathCap,
  defaultPathRotation,
  defaultTriage,
  type HorizonPolicyOptions,
} from '../policies/index.js'

/** The table's constants: everything that does not change while a policy is in force. */
export interface PublishedRules {
  readonly flags: number
  readonly nMin: number
  readonly nMax: number
  readonly m: number
  readonly longCap: number
  readonly shareFloor: number
  readonly uGuard: number
  readonly uLost: number
  readonly downstreamWait: boolean
}

/** A policy by name and options, as a configuration names it. */
export interface NamedPolicy {
  readonly name: string
  readonly options?: HorizonPolicyOptions
}

/** The rules of a policy, or `undefined` when the table cannot express it. */
export function publishedRules({ name, options = {} }: NamedPolicy): PublishedRules | undefined {
  switch (name) {
    case 'vanilla':
      return compile(
        { rotation: false, longPathCap: false, triage: false, uGuard: 0, workConserving: false },
        0,
      )
    case 'edf':
      return compile(
        { rotation: false, longPathCap: false, triage: false, uGuard: 0, workConserving: false },
        FLAG.byDeadline,
      )
    case 'horizonserve':
      return byOrder(options)
    case 'horizonserve-literal':
      return byOrder({
        ...options,
        rotation: options.rotation === false ? false : { update: 'step', ...options.rotation },
        longPathCap:
          options.longPathCap === false ? false : { counts: 'prefill', ...options.longPathCap },
        triage: options.triage ?? false,
        workConserving: options.workConserving ?? false,
      })
    case 'feasible-edf':
      return compile({ uGuard: 0, longPathCap: {}, ...options, rotation: false }, FLAG.byDeadline)
    default:
      return undefined
  }
}

function byOrder(options: HorizonPolicyOptions): PublishedRules | undefined {
  const kind = options.order?.kind ?? 'arrival'
  if (kind === 'key') return undefined
  return compile(options, kind === 'deadline' ? FLAG.byDeadline : 0)
}

function compile(options: HorizonPolicyOptions, base: number): PublishedRules {
  const rotation =
    options.rotation === false ? undefined : { ...defaultPathRotation, ...options.rotation }
  const cap =
    options.longPathCap === false ? undefined : { ...defaultLongPathCap, ...options.longPathCap }
  const triage = options.triage === false ? undefined : { ...defaultTriage, ...options.triage }
  const uGuard = options.uGuard ?? DEFAULT_U_GUARD
  let flags = base
  if (rotation !== undefined) flags |= FLAG.rotate | (rotation.update === 'cycle' ? FLAG.cycle : 0)
  if (uGuard > 0) flags |= FLAG.exemptProtected
  if (cap !== undefined)
    flags |= FLAG.limitLong | (cap.counts === 'shared-stage' ? FLAG.capShared : 0)
  if (triage !== undefined) flags |= FLAG.triage
  if (options.workConserving ?? true) flags |= FLAG.workConserving
  return {
    flags,
    nMin: rotation?.nMin ?? 0,
    nMax: rotation?.nMax ?? 0,
    m: rotation?.m ?? 1,
    longCap: cap?.cap ?? 0,
    shareFloor: triage?.shareFloor ?? 0,
    uGuard,
    uLost: triage?.uLost ?? 0,
    downstreamWait: options.downstreamWait ?? triage !== undefined,
  }
}
