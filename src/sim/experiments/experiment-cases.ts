/**
 * @module
 * Everything that is compared: the paper's five, its two ablations, ours, and what keeps both honest: each half of the idea alone, with
 * the SM cap (Green Contexts and the throttle, `-sm`) and without it (MPS, every SM for both). Policies are the library's own; nothing
 * is written for the experiment.
 */
import type { Policy } from '../../core/index.js'
import {
  edf,
  fcfs,
  feasibleEdfPolicy,
  type HorizonPolicyOptions,
  horizonPolicy,
  literalPolicy,
  placesPolicy,
  strictPriority,
} from '../../policies/index.js'
import type { SharingMode } from '../omni/co-running.js'
import type { OmniSpec } from '../omni/spec.js'
import { POLICY_CASES, type PolicyCase, RECOMMENDED } from '../policy-case.js'
import { MEANT_ABLATIONS, READING_CASES } from './literal-readings.js'

/** The paper's own five, in its order. */
export const PAPER_CASES = ['vanilla', 'edf', 'mps', 'edf-mps', 'horizonserve-literal'] as const
/** What `horizonserve-literal` is compared with. */
export const BASELINES = ['vanilla', 'edf', 'mps', 'edf-mps'] as const
/** Share floors whose price is shown, in percent. */
export const FLOORS = [0, 5, 10, 20] as const

/** The recommended case under a share floor in percent; 5 is its own. */
export const floorName = (floor: number): string => (floor === 5 ? RECOMMENDED : `slots-${floor}`)

const BARE = { uGuard: 0, rotation: false, longPathCap: false, triage: false } as const

type Build = (options: HorizonPolicyOptions) => Policy

/** A policy with the throttle under Green Contexts, and the same without it under MPS. */
function both(name: string, about: string, build: Build): PolicyCase[] {
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

/** Feasible-EDF, and slots kept free for those that can still be on time. */
function reservePolicy(
  spec: OmniSpec,
  reserve: number,
  shareFloor: number,
  options: HorizonPolicyOptions,
): Policy {
  const { order: _order, rotation: _rotation, ...rest } = options
  const { slots } = spec.shared
  const own = { slots, reserve: Math.min(reserve, slots - 1) }
  // As it was before the default preset took the reserve in.
  const parts = { longPathCap: { cap: 2 }, triage: { uLost: 1, shareFloor } }
  return feasibleEdfPolicy({ ...rest, ...parts, slotReserve: own })
}

/** Half of the slots. */
export function usualReserve(spec: OmniSpec): number {
  return spec.shared.slots >> 1
}

/** The default preset with `slots` in its configuration. */
function slotsPolicy(spec: OmniSpec, floor: number, options: HorizonPolicyOptions): Policy {
  const { slots } = spec.shared
  return horizonPolicy({
    name: floorName(floor),
    ...options,
    triage: { shareFloor: floor / 100 },
    slotReserve: { slots },
  })
}

function reserveCase(
  name: string,
  about: string,
  sharing: SharingMode,
  floor: number,
  reserve: (spec: OmniSpec) => number,
): PolicyCase {
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

export const EXPERIMENT_CASES: readonly PolicyCase[] = [
  ...READING_CASES,
  ...MEANT_ABLATIONS,
  {
    name: 'places-late-60',
    about: 'horizonserve-places; who is lost goes first once a minute late',
    sharing: gc,
    policy: ({ saturation }, { shared, downstream }) =>
      named(
        'places-late-60',
        placesPolicy({
          slots: shared.slots,
          downstreamPlaces: downstream.slots,
          throttle: { saturation },
          lateness: { boundMs: 60_000 },
        }),
      ),
  },
  ...POLICY_CASES.filter((of) => of.name !== 'strict-priority'),
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
    (floor): PolicyCase => ({
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
  reserveCase('reserve-mps', 'reserve-5; MPS, no SM cap', 'mps', 0.05, usualReserve),
  ...FLOORS.filter((floor) => floor !== 5).map(
    (floor): PolicyCase => ({
      name: floorName(floor),
      about: `horizonserve with its slots named: half of them kept from lost requests, which get ${floor} % of slot time`,
      sharing: gc,
      policy: ({ saturation }, spec) => slotsPolicy(spec, floor, { throttle: { saturation } }),
    }),
  ),
  {
    name: `${RECOMMENDED}-mps`,
    about: `${RECOMMENDED}; MPS, no SM cap`,
    sharing: 'mps',
    policy: (_calibration, spec) => slotsPolicy(spec, 5, { throttle: false }),
  },
  reserveCase('reserve-one', 'one slot kept from lost requests', gc, 0.05, () => 1),
]

const byName = new Map(EXPERIMENT_CASES.map((of) => [of.name, of]))

/** The case of that name; a programming error otherwise. */
export function experimentCase(name: string): PolicyCase {
  const found = byName.get(name)
  if (found === undefined) throw new Error(`no experiment case ${name}`)
  return found
}
