/**
 * @module
 * The configuration as a type: what an editor shows of each field. `config-form.ts` checks values of it, `config-schema.ts` describes it
 * for files. A field that is added belongs into all three.
 */
import type { StageProfile } from './policies/request-profiler.js'

interface ClassFields {
  /** What the user gets. Text leaves after the shared stage; the others need a downstream stage. */
  readonly output: 'text' | 'audio' | 'image' | 'video'
  /** Input modalities of the class, for classification. */
  readonly inputs?: readonly ('text' | 'audio' | 'image' | 'video')[] | undefined
  /** Whether the first response leaves after the shared stage. @default short for text, long for the others */
  readonly path?: 'short' | 'long' | undefined
  /** Lower goes first under the order `priority`. @default 0 text, 10 audio, 20 image */
  readonly priority?: number | undefined
}

/** First-response SLO of a class: stated, or a multiple of what the response takes alone. One of the two must be given. */
type ClassSlo =
  | {
      /** First-response SLO, ms after arrival. */
      readonly sloMs: number
      readonly soloP95Ms?: undefined
      readonly sloMultiplier?: number | undefined
    }
  | {
      /** p95 of the first response alone on the GPU, ms; times `sloMultiplier` it is the SLO. */
      readonly soloP95Ms: number
      /** SLO over `soloP95Ms`. @default 5, as in the paper */
      readonly sloMultiplier?: number | undefined
      readonly sloMs?: undefined
    }

/** One request class: its output, and its SLO as `sloMs` or as `soloP95Ms`. */
export type ClassConfig = ClassFields & ClassSlo

/** What `createHorizon` takes: class names are inferred from `classes`. Every field but `classes` and `profile` has a default. */
export interface HorizonConfig<Name extends string = string> {
  /** Request classes by name. */
  readonly classes: Readonly<Record<Name, ClassConfig>>
  /** What a request of each class takes alone, ms per stage. */
  readonly profile: Readonly<Record<Name, StageProfile>>
  /** `default`: work conserving, with triage. `literal`: the paper as printed. @default 'default' */
  readonly preset?: 'default' | 'literal' | undefined
  /** SM counts that the shared stage may be held to. Left out, SMs are not controlled. */
  readonly ladder?:
    | {
        /** SMs of the whole GPU. */
        readonly totalSms: number
        /** Co-running SM counts, Smin first, Scap last, rising. */
        readonly levels: readonly number[]
        /** SMs while no downstream stage runs. @default totalSms */
        readonly aggressiveSms?: number | undefined
      }
    | undefined
  /** A request is protected when its slack is less than this many times its remaining time; 0: off. @default 2 */
  readonly uGuard?: number | undefined
  /** Alternation of short-path and long-path steps; false: none. */
  readonly rotation?:
    | false
    | {
        /** Long-path steps of a cycle. @default 2 */
        readonly m?: number | undefined
        /** Fewest short-path steps of a cycle. @default 2 */
        readonly nMin?: number | undefined
        /** Most short-path steps of a cycle. @default 8 */
        readonly nMax?: number | undefined
        /** When N is renewed: once per cycle, or in every step as printed in the paper. @default 'cycle' */
        readonly update?: 'cycle' | 'step' | undefined
      }
    | undefined
  /** Most ordinary long-path requests in what `capCounts` counts; false: no cap. @default 2 */
  readonly longPathCap?: number | false | undefined
  /** What the long-path cap counts. @default 'shared-stage' */
  readonly capCounts?: 'prefill' | 'shared-stage' | 'in-flight' | undefined
  /** Whether protected requests are exempt from the long-path cap. */
  readonly capProtected?: 'exempt' | 'until-overdue' | 'limited' | undefined
  /** Whether a lost request is refused by the step that finds it so. @default false */
  readonly sheds?: boolean | undefined
  /** What happens to requests that can no longer meet their deadline; false: they stay protected. */
  readonly triage?:
    | false
    | {
        /** Lost when slack is less than this many times the remaining time. @default 1 */
        readonly uLost?: number | undefined
        /** Least share of steps, 0 to 1, that put a lost request first. @default 0.05 */
        readonly shareFloor?: number | undefined
      }
    | undefined
  /** Slots of the shared stage (vLLM: `max_num_seqs`). Recommended where the number is known. */
  readonly slots?: number | undefined
  /** Places of the downstream stages: with `slots`, the policy by places of both stages. Beside triage and a reserve. */
  readonly downstreamPlaces?: number | undefined
  /** How late requests that missed their deadline may become before they go first; false: no bound. */
  readonly lateness?:
    | false
    | {
        /** Bound, ms after the deadline. */
        readonly boundMs?: number | undefined
      }
    | undefined
  /** Slots that lost requests leave free; false: none. @default half of `slots` */
  readonly slotReserve?: number | false | undefined
  /** How memory pressure picks a level of the ladder; false: the cap does not follow it. */
  readonly throttle?:
    | false
    | {
        /** Weight of a new sample, 0 to 1. @default 0.4 */
        readonly gamma?: number | undefined
        /** Pressure, 0 to 1, at which the shared stage gets the last level. @default 0.9 */
        readonly saturation?: number | undefined
        /** The level moves by at least this many rows. @default 1 */
        readonly deltaStep?: number | undefined
        /** Smooth once per new sample, or in every step with the last one. @default 'per-sample' */
        readonly smoothing?: 'per-sample' | 'per-step' | undefined
      }
    | undefined
  /** Hold this many SMs, one of `ladder.levels`, while a downstream stage runs, instead of throttling. */
  readonly fixedCapSms?: number | undefined
  /** Where `horizonserve run` reads memory pressure; false: nowhere. @default auto where there is a ladder */
  readonly pressure?:
    | false
    | {
        /** @default 'auto' */
        readonly source?:
          | 'auto'
          | 'nvml-samples'
          | 'nvml-utilization'
          | 'gpm-dram-bandwidth'
          | undefined
        /** NVML index, UUID or PCI id. @default 0 */
        readonly device?: number | string | undefined
        /** Time between readings, ms, 20 to 10000. @default 100 */
        readonly everyMs?: number | undefined
      }
    | undefined
  /** Base order of the view. @default 'arrival' */
  readonly order?: 'arrival' | 'deadline' | 'priority' | undefined
  /** Whether a phase with nothing ordinary to run may pass to the other path. @default true, false in the literal preset */
  readonly workConserving?: boolean | undefined
  /** What is measured online and corrects the profiles. */
  readonly estimates?:
    | {
        /** Weight of a new observation of the slowdown, 0 to 1; 0: no correction. @default 0.2 */
        readonly slowdownGain?: number | undefined
        /** Largest slowdown that is believed. @default 32 */
        readonly maxSlowdown?: number | undefined
        /** How many long-path requests the downstream stages serve at once. @default 1 */
        readonly downstreamConcurrency?: number | undefined
      }
    | undefined
  /** Room for requests. */
  readonly capacity?:
    | {
        /** Rows made at construction. @default 0 */
        readonly initialRequests?: number | undefined
        /** Most requests held at once, at most 2^24. @default 1048576 */
        readonly maxRequests?: number | undefined
      }
    | undefined
}
