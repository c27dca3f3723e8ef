/**
 * @module
 * What `simulate` compares: a policy of the library together with the way the stages share the GPU under it. The five of the paper
 * (section 6.1) and our default preset are compared unless others are asked for.
 */
import { HorizonError, type Policy } from '../core/index.js'
import {
  edfPolicy,
  feasibleEdfPolicy,
  horizonPolicy,
  literalPolicy,
  placesPolicy,
  strictPriorityPolicy,
  vanillaPolicy,
} from '../policies/index.js'
import type { Calibration } from './calibrate/calibration.js'
import type { SharingMode } from './omni/co-running.js'
import type { OmniSpec } from './omni/spec.js'

export interface PolicyCase {
  readonly name: string
  readonly about: string
  readonly sharing: SharingMode
  /** May need to know the runtime, as an operator knows the engine's number of slots. */
  readonly policy: (calibration: Calibration, runtime: OmniSpec) => Policy
}

/** The default preset where the engine's slots are named: what we recommend. */
export const RECOMMENDED = 'horizonserve-slots'

export const POLICY_CASES: readonly PolicyCase[] = [
  {
    name: 'vanilla',
    about: 'first come first served; the stages take turns on the GPU',
    sharing: 'time-sliced',
    policy: vanillaPolicy,
  },
  {
    name: 'edf',
    about: 'earliest deadline first; the stages take turns',
    sharing: 'time-sliced',
    policy: edfPolicy,
  },
  {
    name: 'mps',
    about: 'first come first served; both stages on all SMs under MPS',
    sharing: 'mps',
    policy: vanillaPolicy,
  },
  {
    name: 'edf-mps',
    about: 'earliest deadline first under MPS',
    sharing: 'mps',
    policy: edfPolicy,
  },
  {
    name: 'horizonserve-literal',
    about: 'the paper as printed: rotation, slack guard, long-path cap, SM throttle',
    sharing: 'green-contexts',
    policy: ({ saturation }) => literalPolicy({ throttle: { saturation } }),
  },
  {
    name: 'horizonserve',
    about: 'the library’s default preset: the same with work conservation and triage',
    sharing: 'green-contexts',
    policy: ({ saturation }) => horizonPolicy({ throttle: { saturation } }),
  },
  {
    name: RECOMMENDED,
    about:
      'horizonserve with its slots named: half of them kept from lost requests, which get 5 % of slot time',
    sharing: 'green-contexts',
    policy: ({ saturation }, { shared }) =>
      horizonPolicy({
        name: RECOMMENDED,
        slotReserve: { slots: shared.slots },
        throttle: { saturation },
      }),
  },
  {
    name: 'horizonserve-places',
    about:
      'horizonserve-slots that knows the downstream places too: at most as many long-path requests in flight',
    sharing: 'green-contexts',
    policy: ({ saturation }, { shared, downstream }) =>
      placesPolicy({
        slots: shared.slots,
        downstreamPlaces: downstream.slots,
        throttle: { saturation },
      }),
  },
  {
    name: 'feasible-edf',
    about: 'earliest deadline first over those that can still make it; long-path cap, SM throttle',
    sharing: 'green-contexts',
    policy: ({ saturation }) => feasibleEdfPolicy({ throttle: { saturation } }),
  },
  {
    name: 'strict-priority',
    about: 'text before audio before images under MPS',
    sharing: 'mps',
    policy: strictPriorityPolicy,
  },
]

/** Compared unless others are named. */
export const DEFAULT_POLICIES: readonly string[] = POLICY_CASES.slice(0, 8).map((of) => of.name)

/** Cases by name, in the order given. Throws `ERR_SIM_POLICY`. */
export function policyCases(names: readonly string[]): readonly PolicyCase[] {
  return names.map((name) => {
    const found = POLICY_CASES.find((of) => of.name === name)
    if (found !== undefined) return found
    throw new HorizonError('ERR_SIM_POLICY', 'unknown policy', {
      field: 'policies',
      expected: POLICY_CASES.map((of) => of.name).join(', '),
      got: name,
    })
  })
}
