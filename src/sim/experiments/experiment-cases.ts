/**
 * @module
 * Everything that is compared: the paper's five, its two ablations, ours, and what keeps both honest: each half of the idea alone, with
 * the SM cap (Green Contexts and the throttle, `-sm`) and without it (MPS, every SM for both). Policies are the library's own; nothing
 * is written for the experiment.
 */
import type { Policy } from '../../core/index.js'
import {
  defaultSlotReserve,
  edf,
  fcfs,
  feasibleEdfPolicy,
  type HorizonPolicyOptions,
  horizonPolicy,
  literalPolicy,
  slotReserve,
  strictPriority,
} from '../../policies/index.js'
import type { Calibration } from '../calibrate/calibration.js'
import type { SharingMode } from '../omni/co-running.js'
import type { OmniSpec } from '../omni/spec.js'
import { POLICY_CASES, type PolicyCase } from '../policy-case.js'

/** A case that may need to know the runtime, as an operator knows the engine's number of slots. */
export interface ExperimentCase {
  readonly name: string
  readonly about: string
  readonly sharing: SharingMode
  readonly policy: (calibration: Calibration, spec: OmniSpec) => Policy
}

/** The paper's own five, in its order. */
export const PAPER_CASES = ['vanilla', 'edf', 'mps', 'edf-mps', 'horizonserve-literal'] as const
/** What `horizonserve-literal` is compared with. */
export const BASELINES = ['vanilla', 'edf', 'mps', 'edf-mps'] as const
/** Share floors whose price is shown, in percent. */
export const FLOORS = [0, 5, 10, 20] as const

const BARE = { uGuard: 0, rotation: false, longPathCap: false, triage: false } as const

type Build = (options: HorizonPolicyOptions) => Policy

/** A policy with the throttle under Green Contexts, and the same without it under MPS. */
function both(name: string, about: string, build: Build): ExperimentCase[] {
  return [
    {
      name,
      about: `${about}; MPS, no SM cap`,
      sharing: 'mps',
      policy: () => named(name, build({ throttle: false })),
    },
    {
      name: `${name}-sm`,
      about: `${about}; SM throttle`,
      sharing: 'green-contexts',
      policy: ({ saturation }) => named(`${name}-sm`, build({ throttle: { saturation } })),
    },
  ]
}

const named = (name: string, policy: Policy): Policy => ({ ...policy, name })

/** Feasible-EDF without a floor of its own, and slots kept free for those that can still be on time. */
function reservePolicy(
  spec: OmniSpec,
  reserve: number,
  shareFloor: number,
  options: HorizonPolicyOptions,
): Policy {
  const { order: _order, rotation: _rotation, ...rest } = options
  const base = feasibleEdfPolicy({ ...rest, triage: { shareFloor: 0 } })
  const { slots } = spec.shared
  const own = { slots, reserve: Math.min(reserve, slots - 1), holdsLong: false, shareFloor }
  return { ...base, filters: () => [...base.filters(), slotReserve(own)] }
}

/** Half of the slots, at least one. */
export function usualReserve(spec: OmniSpec): number {
  return Math.max(1, Math.floor(spec.shared.slots / 2))
}

function reserveCase(
  name: string,
  about: string,
  sharing: SharingMode,
  floor: number,
  reserve: (spec: OmniSpec) => number,
): ExperimentCase {
  return {
    name,
    about,
    sharing,
    policy: ({ saturation }, spec) => {
      const throttle = sharing === 'mps' ? (false as const) : { saturation }
      return named(name, reservePolicy(spec, reserve(spec), floor, { throttle }))
    },
  }
}

const gc = 'green-contexts'
const known = (of: PolicyCase): ExperimentCase => ({ ...of, policy: (c) => of.policy(c) })

export const EXPERIMENT_CASES: readonly ExperimentCase[] = [
  ...POLICY_CASES.filter((of) => of.name !== 'strict-priority').map(known),
  {
    name: 'literal-no-throttle',
    about: 'ablation: the paper’s system without the SM throttle, MPS',
    sharing: 'mps',
    policy: () => named('literal-no-throttle', literalPolicy({ throttle: false })),
  },
  {
    name: 'literal-no-rotation',
    about: 'ablation: the paper’s system without path rotation',
    sharing: gc,
    policy: ({ saturation }) =>
      named('literal-no-rotation', literalPolicy({ rotation: false, throttle: { saturation } })),
  },
  ...both('fcfs-cap', 'first come first served with the long-path cap', (more) =>
    horizonPolicy({ ...BARE, longPathCap: {}, order: fcfs, ...more }),
  ),
  ...both('edf-cap', 'earliest deadline first with the long-path cap', (more) =>
    horizonPolicy({ ...BARE, longPathCap: {}, order: edf, ...more }),
  ),
  ...both('priority', 'text before audio before images', (more) =>
    horizonPolicy({ ...BARE, order: strictPriority, ...more }),
  ),
  ...both('rotation', 'path rotation alone', (more) =>
    horizonPolicy({ ...BARE, rotation: {}, ...more }),
  ),
  ...both('triage', 'rotation, guard, long-path cap and triage without a share floor', (more) =>
    horizonPolicy({ triage: { shareFloor: 0 }, ...more }),
  ),
  {
    name: 'feasible-edf-mps',
    about: 'feasible-edf; MPS, no SM cap',
    sharing: 'mps',
    policy: () => named('feasible-edf-mps', feasibleEdfPolicy({ throttle: false })),
  },
  ...FLOORS.map(
    (floor): ExperimentCase => ({
      name: `feasible-edf-${floor}`,
      about: `feasible-edf, ${floor} % of steps put a lost request first`,
      sharing: gc,
      policy: ({ saturation }) =>
        named(
          `feasible-edf-${floor}`,
          feasibleEdfPolicy({ throttle: { saturation }, triage: { shareFloor: floor / 100 } }),
        ),
    }),
  ),
  ...FLOORS.map((floor) =>
    reserveCase(
      `reserve-${floor}`,
      `feasible-edf and half of the slots kept from lost requests, which get ${floor} % of slot time`,
      gc,
      floor / 100,
      usualReserve,
    ),
  ),
  reserveCase(
    'reserve-mps',
    'reserve-5; MPS, no SM cap',
    'mps',
    defaultSlotReserve.shareFloor,
    usualReserve,
  ),
  reserveCase('reserve-one', 'one slot kept from lost requests', gc, 0.05, () => 1),
]

const byName = new Map(EXPERIMENT_CASES.map((of) => [of.name, of]))

/** The case of that name; a programming error otherwise. */
export function experimentCase(name: string): ExperimentCase {
  const found = byName.get(name)
  if (found === undefined) throw new Error(`no experiment case ${name}`)
  return found
}
