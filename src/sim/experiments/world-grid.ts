/**
 * @module
 * The worlds that `identify` tries: how the runtime may have been, in what the paper leaves open. Every value lies in the range that its
 * source allows (`omni/parameters.ts`; host time and answers by the ranges there, places by the deploy files of vLLM-Omni).
 */
import { HAND_OVERS, type HandOverMechanism } from '../omni/parameters.js'
import type { Overrides } from '../omni/spec.js'

export interface WorldOfGrid {
  /** `<mechanism>/<shared places>+<downstream places>/<host>/<answers>`. */
  readonly id: string
  readonly mechanism: HandOverMechanism
  /** Places of the shared stage and of the downstream stage. */
  readonly sharedPlaces: number
  readonly downstreamPlaces: number
  /** Host time of a step of the shared stage, and what each token decoded so far adds to it, ms. */
  readonly hostMs: number
  readonly hostMsPerAnswerToken: number
  /** Spoken answers, relative to what figure 2 asks for. */
  readonly answers: number
}

/** 0.16.0 ships one place for every stage; figure 6 draws four in the shared one. */
const SHARED_PLACES = [1, 2, 4]
const DOWNSTREAM_PLACES = [1, 4]
/** As shipped with the model; so that vanilla's TPOT comes near table 3's; and most of it growing with the answer. */
const HOSTS = [
  { name: 'host-20', hostMs: 20, hostMsPerAnswerToken: 0 },
  { name: 'host-11', hostMs: 11, hostMsPerAnswerToken: 0 },
  { name: 'host-grows', hostMs: 5, hostMsPerAnswerToken: 0.03 },
]
const ANSWERS = [1, 2]

export const WORLD_GRID: readonly WorldOfGrid[] = HAND_OVERS.flatMap((mechanism) =>
  SHARED_PLACES.flatMap((sharedPlaces) =>
    DOWNSTREAM_PLACES.flatMap((downstreamPlaces) =>
      HOSTS.flatMap(({ name, hostMs, hostMsPerAnswerToken }) =>
        ANSWERS.map((answers) => ({
          id: `${mechanism}/${sharedPlaces}+${downstreamPlaces}/${name}/answers-${answers}`,
          mechanism,
          sharedPlaces,
          downstreamPlaces,
          hostMs,
          hostMsPerAnswerToken,
          answers,
        })),
      ),
    ),
  ),
)

/** Spoken answers that figure 2 asks for, tokens (`spokenAnswerTokens`); images have none. */
const SPOKEN = { 'qwen2.5-omni': 46, 'mimo-audio': 118, bagel: 0 } as const

export type FittedModel = keyof typeof SPOKEN

/** A world as overrides of the parameters of one model. */
export function overridesOf(world: WorldOfGrid, model: FittedModel): Overrides {
  return {
    'handOver.mechanism': HAND_OVERS.indexOf(world.mechanism),
    'shared.slots': world.sharedPlaces,
    'downstream.slots': world.downstreamPlaces,
    'shared.hostMs': world.hostMs,
    'shared.hostMsPerAnswerToken': world.hostMsPerAnswerToken,
    ...(SPOKEN[model] === 0 ? {} : { spokenAnswerTokens: SPOKEN[model] * world.answers }),
  }
}
