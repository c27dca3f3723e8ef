/**
 * @module
 * Whole policies: the paper's system as printed, ours, and what they are compared with. A policy is a record of parts; build your own
 * the same way.
 */
import { ABOVE_0, expectInteger, expectNumber } from '../core/errors.js'
import type { CapController, Order, Policy, UrgencyRule, ViewFilter } from '../core/ports.js'
import { type LatenessOptions, lateness } from './lateness.js'
import { type LongPathCapOptions, longPathCap } from './long-path-cap.js'
import { noCap } from './no-cap.js'
import { edf, fcfs, strictPriority } from './orders.js'
import { type PathRotationOptions, pathRotation } from './path-rotation.js'
import { DEFAULT_U_GUARD, slackGuard } from './slack-guard.js'
import { RESERVE_U_LOST, type SlotReserveOptions, slotReserve } from './slot-reserve.js'
import { type SmThrottleOptions, smThrottle } from './sm-throttle.js'
import { defaultTriage, type TriageOptions, triage } from './triage.js'

/** Parts of a HorizonServe policy. `false` leaves a part out: that is how ablations are written. */
export interface HorizonPolicyOptions {
  readonly name?: string
  readonly order?: Order
  readonly uGuard?: number
  readonly rotation?: PathRotationOptions | false
  readonly longPathCap?: LongPathCapOptions | false
  readonly triage?: TriageOptions | false
  /**
   * Keeps slots free from lost requests, for an engine whose number of slots is known. Needs triage, whose share floor then counts
   * slot time instead of steps, and whose `uLost` defaults to 0.8; the long-path cap defaults to 3/4 of the slots. @default false
   */
  readonly slotReserve?: Omit<SlotReserveOptions, 'shareFloor'> | false
  /** Bounds how late a lost request becomes before it goes first. Needs triage. @default false */
  readonly lateness?: LatenessOptions | false
  readonly throttle?: SmThrottleOptions | false
  /** Another cap controller instead of the throttle. */
  readonly cap?: () => CapController
  readonly workConserving?: boolean
  /** Refuses what is lost, by event `shed`, instead of letting it wait. Needs triage or `uLost`. @default false */
  readonly sheds?: boolean
  /** Whether the estimate includes the expected downstream wait. @default true with triage, false without */
  readonly downstreamWait?: boolean
}

/** Composes rotation, guard, long-path cap, triage, slot reserve and throttle. Options that are wrong throw here, not in the first step. */
export function horizonPolicy(options: HorizonPolicyOptions = {}): Policy {
  const { rotation = {}, longPathCap: limit = {}, throttle = {}, triage: lost = {} } = options
  const uGuard = options.uGuard ?? DEFAULT_U_GUARD
  const reserve = options.slotReserve
  // Under triage a request is lost before it is overdue, and triage says what becomes of it.
  const endsOverdue = lost === false && limit !== false && limit.protected === 'until-overdue'
  const capOptions =
    limit !== false && limit.protected === 'until-overdue' && !endsOverdue
      ? { ...limit, protected: 'exempt' as const }
      : limit
  const urgency: UrgencyRule = {
    uGuard,
    uLost: lost === false ? 0 : (lost.uLost ?? (reserve ? RESERVE_U_LOST : defaultTriage.uLost)),
    downstreamWait: options.downstreamWait ?? lost !== false,
    ...(endsOverdue ? { longOverdue: 'lost' } : {}),
  }
  const filters = (): ViewFilter[] => [
    ...(rotation === false ? [] : [pathRotation(rotation)]),
    ...(uGuard > 0 ? [slackGuard()] : []),
    ...(capOptions === false
      ? []
      : [
          longPathCap(
            reserve ? { cap: Math.max(1, (3 * reserve.slots) >> 2), ...capOptions } : capOptions,
          ),
        ]),
    ...(lost === false ? [] : [triage(reserve ? { shareFloor: 0 } : lost)]),
    ...(reserve ? [slotReserve({ ...reserve, ...lost })] : []),
    ...(options.lateness ? [lateness(options.lateness)] : []),
  ]
  const cap =
    options.cap ?? ((): CapController => (throttle === false ? noCap() : smThrottle(throttle)))
  expectNumber('ERR_POLICIES_URGENCY', 'uGuard', uGuard, 0)
  // A request is protected before it is lost; and without triage there is none to keep slots from.
  const most = uGuard > 0 ? uGuard : undefined
  expectNumber('ERR_POLICIES_URGENCY', 'triage.uLost', urgency.uLost, reserve ? ABOVE_0 : 0, most)
  filters()
  cap()
  return {
    name: options.name ?? 'horizonserve',
    urgency,
    filters,
    order: options.order ?? fcfs,
    cap,
    workConserving: options.workConserving ?? true,
    sheds: options.sheds ?? false,
  }
}

/** What an engine can tell of its places. */
export interface PlacesOptions extends Omit<HorizonPolicyOptions, 'slotReserve' | 'longPathCap'> {
  /** Places of the shared stage (vLLM: `max_num_seqs`), and of the downstream stage. */
  readonly slots: number
  readonly downstreamPlaces: number
  /** Slots that lost requests leave free. @default half of the slots, rounded down */
  readonly reserve?: number | undefined
}

/**
 * The default preset where the places of both stages are known. At most as many long-path requests as the downstream stage has places are
 * in flight, protected ones too, so that none holds a shared-stage place for longer than it computes; half of the slots are kept from
 * requests already lost. It assumes nothing about when the runtime frees a place.
 */
export function placesPolicy({
  slots,
  downstreamPlaces,
  reserve,
  ...options
}: PlacesOptions): Policy {
  expectInteger('ERR_POLICIES_PLACES', 'downstreamPlaces', downstreamPlaces, 1)
  return horizonPolicy({
    name: 'horizonserve-places',
    // The cap leaves nobody out, so that protection would only reorder.
    uGuard: 0,
    ...options,
    slotReserve: reserve === undefined ? { slots } : { slots, reserve },
    longPathCap: { cap: downstreamPlaces, counts: 'in-flight', protected: 'limited' },
  })
}

/** The paper as printed: N renewed in each step, the cap counts prefills, nothing passes, nothing is lost, pressure smoothed per step. */
export function literalPolicy(options: HorizonPolicyOptions = {}): Policy {
  return horizonPolicy({
    name: 'horizonserve-literal',
    ...options,
    rotation: options.rotation === false ? false : { update: 'step', ...options.rotation },
    longPathCap:
      options.longPathCap === false ? false : { counts: 'prefill', ...options.longPathCap },
    throttle: options.throttle === false ? false : { smoothing: 'per-step', ...options.throttle },
    triage: options.triage ?? false,
    workConserving: options.workConserving ?? false,
  })
}

const NO_URGENCY: UrgencyRule = Object.freeze({ uGuard: 0, uLost: 0, downstreamWait: false })

function baseline(name: string, order: Order): Policy {
  return { name, urgency: NO_URGENCY, filters: () => [], order, cap: noCap, workConserving: false }
}

/** The base scheduler alone: first come first served, nothing hidden, no cap. */
export function vanillaPolicy(): Policy {
  return baseline('vanilla', fcfs)
}

/** Deadline order, nothing hidden, no cap: the paper's EDF. */
export function edfPolicy(): Policy {
  return baseline('edf', edf)
}

/** Class priority, nothing hidden, no cap. */
export function strictPriorityPolicy(): Policy {
  return baseline('strict-priority', strictPriority)
}

/**
 * Deadline order over those that can still make it; lost ones last, with their share floor. The long-path cap and the throttle stay,
 * there is no rotation.
 */
export function feasibleEdfPolicy(
  options: Omit<HorizonPolicyOptions, 'order' | 'rotation'> = {},
): Policy {
  return horizonPolicy({
    name: 'feasible-edf',
    uGuard: 0,
    longPathCap: {},
    ...options,
    order: edf,
    rotation: false,
  })
}
