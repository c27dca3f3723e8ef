/**
 * @module
 * The two sides of a measurement while it runs: sessions opened and warmed up once, then run by run. Every timed run's
 * outputs are compared with the reference's too: what is fast because it is wrong under load must not get a verdict.
 */
import type { RunSamples } from '../gate/metric.js'
import type { Side } from '../gate/run-order.js'
import type { Backend, BackendSession } from '../harness/backend.js'
import { describeDifference, firstDifference } from '../harness/compare.js'
import { drive, measureRun, outputsOf } from '../harness/drive.js'
import { MAX_SAMPLES } from './events.js'
import type { LoopProject } from './loop-project.js'

export interface TimedSides {
  /** One timed run; `unequal` instead of samples when outputs differ or the backend fails. */
  run(side: Side): Promise<{ readonly samples: RunSamples } | { readonly unequal: string }>
  close(): Promise<void>
}

/** Opens both sides. `candidate` is undefined for a pilot: the baseline is both. */
export async function openSides(
  project: LoopProject,
  expected: readonly unknown[][],
  baseline: Backend,
  candidate: Backend | undefined,
): Promise<TimedSides> {
  const sessions = new Map<Side, BackendSession>()
  const failures = new Map<Side, string>()
  const start = async (side: Side, backend: Backend): Promise<void> => {
    try {
      sessions.set(side, await backend.open())
      for (let i = 0; i < project.warmUpRuns; i++)
        await drive(sessions.get(side)!, project.measureScript, project.clock)
    } catch (error) {
      failures.set(side, messageOf(error))
    }
  }
  await start('baseline', baseline)
  if (candidate !== undefined) await start('candidate', candidate)
  return {
    run: async (side) => {
      const where = candidate === undefined ? 'baseline' : side
      const failure = failures.get(where)
      if (failure !== undefined) return { unequal: failure }
      await pause(project.coolDownMs)
      try {
        const records = await drive(sessions.get(where)!, project.measureScript, project.clock)
        const difference = firstDifference(expected, outputsOf(records), project.tolerances)
        if (difference !== undefined) return { unequal: describeDifference(difference) }
        const samples = rounded(measureRun(records, project.mediaMsPerOutput))
        if (Math.max(samples.gapMs.length, samples.ratePerSec.length) > MAX_SAMPLES)
          return { unequal: `a run has more than ${MAX_SAMPLES} samples; shorten 'measure'` }
        return { samples }
      } catch (error) {
        return { unequal: messageOf(error) }
      }
    },
    close: async () => {
      await Promise.all([...sessions.values()].map((session) => session.close()))
    },
  }
}

/** Nanoseconds are below what the clock and the event loop can say, and they make the journal unreadable. */
function rounded(samples: RunSamples): RunSamples {
  const round = (values: readonly number[]): number[] =>
    values.map((value) => Number(value.toFixed(3)))
  return {
    firstOutputMs: round(samples.firstOutputMs),
    gapMs: round(samples.gapMs),
    ratePerSec: round(samples.ratePerSec),
    ...(samples.realTimeFactor !== undefined && {
      realTimeFactor: Number(samples.realTimeFactor.toFixed(4)),
    }),
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
}
