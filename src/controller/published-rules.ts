/**
 * @module
 * Which configurations compile to the published table, and to what. An engine that evaluates the table decides as the core does (the
 * engine suite compares them step by step); one that does not compile needs lockstep.
 */
import { FLAG } from '../adapters/layout.js'
import type { HorizonConfig } from '../config.js'
import {
  DEFAULT_U_GUARD,
  defaultLongPathCap,
  defaultPathRotation,
  defaultTriage,
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

/**
 * The rules of a checked configuration, or `undefined` when the table cannot express it: an order by class priority, kept slots, a cap on
 * what is in flight or on protected requests, refusals, a bound on lateness.
 */
export function publishedRules(config: HorizonConfig): PublishedRules | undefined {
  if (config.order === 'priority') return undefined
  if (config.capCounts === 'in-flight' || config.sheds === true) return undefined
  if (config.downstreamPlaces !== undefined || config.lateness) return undefined
  if ((config.capProtected ?? 'exempt') !== 'exempt') return undefined
  const literal = config.preset === 'literal'
  const lost = config.triage ?? (literal ? false : {})
  // The table knows no slots: their number would have to be counted on the engine's side.
  if (config.slots !== undefined && config.slotReserve !== false && lost !== false) return undefined
  const rotation =
    config.rotation === false
      ? undefined
      : {
          ...defaultPathRotation,
          ...(literal ? { update: 'step' } : {}),
          ...given(config.rotation ?? {}),
        }
  const longCap = config.longPathCap === false ? 0 : (config.longPathCap ?? defaultLongPathCap.cap)
  const counts = config.capCounts ?? (literal ? 'prefill' : defaultLongPathCap.counts)
  const triage = lost === false ? undefined : { ...defaultTriage, ...given(lost) }
  const uGuard = config.uGuard ?? DEFAULT_U_GUARD
  let flags = config.order === 'deadline' ? FLAG.byDeadline : 0
  if (rotation !== undefined) flags |= FLAG.rotate | (rotation.update === 'step' ? 0 : FLAG.cycle)
  if (uGuard > 0) flags |= FLAG.exemptProtected
  if (longCap > 0) flags |= FLAG.limitLong | (counts === 'prefill' ? 0 : FLAG.capShared)
  if (triage !== undefined) flags |= FLAG.triage
  if (config.workConserving ?? !literal) flags |= FLAG.workConserving
  return {
    flags,
    nMin: rotation?.nMin ?? 0,
    nMax: rotation?.nMax ?? 0,
    m: rotation?.m ?? 1,
    longCap,
    shareFloor: triage?.shareFloor ?? 0,
    uGuard,
    uLost: triage?.uLost ?? 0,
    downstreamWait: triage !== undefined,
  }
}

/** Without the fields that are undefined, so that a default holds for them. */
function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
