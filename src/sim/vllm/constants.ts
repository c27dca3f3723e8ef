/**
 * @module
 * The constants in use, each with the run it was fitted on, and the stored ones for when no run to fit on is given. Stored values are what
 * `horizonserve fidelity --fit` printed for the runs named; none was adjusted by hand.
 */
import type { EngineConstants } from './step-price.js'

export interface NamedConstants {
  readonly host: {
    readonly stepMs: number
    readonly promptStepMs: number
    readonly launchMs: number
    readonly outputMs: number
    readonly fittedOn: string
  }
  readonly collective: {
    readonly fixedUs: number
    readonly bytesPerUs: number
    readonly fittedOn: string
  }
}

/**
 * Scheduling and launching a step, and handing its tokens out: they only show while the GPU has nothing under way, which these runs
 * hardly ever have, so they are set, not fitted: vLLM's `schedule()` takes 0.1 ms for a hundred requests (vllm#19057), and launching a
 * graph or a compiled model's first kernels takes a few tenths more.
 */
const UNFITTED = { launchMs: 1, outputMs: 0.3 } as const

const LLAMA_RUN = 'RTXPRO6000_Llama-3.1-8B'
const QWEN_RUN = 'RTXPRO6000_Qwen3-32B'

const COLLECTIVE = { fixedUs: 24.03, bytesPerUs: 16_404, fittedOn: `${QWEN_RUN}, first third` }

const STORED: readonly NamedConstants[] = [
  {
    host: { stepMs: 0.204, promptStepMs: 4.52, ...UNFITTED, fittedOn: LLAMA_RUN },
    collective: COLLECTIVE,
  },
  {
    host: { stepMs: 0, promptStepMs: 5.54, ...UNFITTED, fittedOn: QWEN_RUN },
    collective: { fixedUs: 27.56, bytesPerUs: 16_452, fittedOn: QWEN_RUN },
  },
]

/** The stored constants of a run other than `name`. */
export function storedConstants(name: string): NamedConstants {
  const other = STORED.find((entry) => entry.host.fittedOn !== name)
  return other as NamedConstants
}

export function engineConstants(named: NamedConstants): EngineConstants {
  const { host, collective } = named
  return {
    stepMs: host.stepMs,
    promptStepMs: host.promptStepMs,
    launchMs: host.launchMs,
    outputMs: host.outputMs,
    collectiveUs: collective.fixedUs,
    collectiveBytesPerUs: collective.bytesPerUs,
  }
}
