/**
 * @module
 * Replays a real run: fits on another run (or takes stored constants), fits what that one cannot show on an early cut of this one, runs the
 * engine on the recorded lengths and arrivals, and compares. The timings of the run are read for nothing else.
 */
import { HorizonError } from '../../core/errors.js'
import { engineConstants, type NamedConstants, storedConstants } from './constants.js'
import { runEngine } from './engine.js'
import { type ErrorSummary, errorSummary } from './error-summary.js'
import { type FitRun, fitCollectives, fitHost } from './fit.js'
import { carryReuse, type PromptReuse } from './prompt-reuse.js'
import { type RecordedRequest, replayRequests } from './recorded-run.js'
import { createRequestTable, type RequestTable } from './request-table.js'
import { createStepPrice } from './step-price.js'

/** The part of a tensor-parallel run that its collectives are fitted on, from its start. */
const EARLY_SHARE = 1 / 3

export interface FidelityResult extends ErrorSummary {
  /** What the errors above are over. */
  readonly over: string
  /** The same errors over every request of the run. */
  readonly all: ErrorSummary
  /** The last of the replays that were asked for. */
  readonly wallMs: number
  /** The first of them: the code was not compiled yet. */
  readonly coldWallMs: number
  readonly events: number
  readonly steps: number
  readonly preemptions: number
  readonly virtualMs: number
  readonly realMs: number
  /** Virtual over wall time of the replay, without reading files and fitting. */
  readonly speedup: number
  readonly eventsPerSec: number
  readonly kvBlocks: number | null
  readonly constants: NamedConstants & {
    readonly reuse: {
      readonly prompts: number
      readonly tokens: number
      readonly fittedOn: string
    }
  }
}

export interface ReplayOptions {
  /**
   * `arrival` (the default): a request lies ready since it arrived, and its clock starts when the simulated core takes it.
   * `queued`: it lies ready, and its clock starts, at the recorded `queued_ts`, which is the end of a real step but not of a simulated one:
   * on top of the real wait it waits for the simulated step to end, half a step on average.
   */
  readonly replayBy?: 'arrival' | 'queued'
  /** False takes every prompt as new, whatever the run fitted on shows. */
  readonly reuse?: boolean
  /** Replays to make, with equal results: the last shows what the simulator takes once it is compiled. 1 without it. */
  readonly replays?: number
}

export interface Replay {
  readonly result: FidelityResult
  readonly table: RequestTable
}

/** `fit` is another run; without it stored constants are used and no prompt is taken to continue another. */
export function replayRun(subject: FitRun, fit?: FitRun, options: ReplayOptions = {}): Replay {
  const { run, settings } = subject
  const byQueue = options.replayBy === 'queued'
  let named = storedConstants(subject.name)
  let reuse: PromptReuse | undefined
  if (fit !== undefined) {
    const fitted = fitHost(fit, engineConstants(named))
    const { constants } = fitted
    const source = sameRun(fit, subject) ? `${fit.name}, the run replayed itself` : fit.name
    const parallel = fit.settings.tensorParallel > 1
    named = {
      host: {
        ...named.host,
        stepMs: constants.stepMs,
        promptStepMs: constants.promptStepMs,
        fittedOn: source,
      },
      collective: parallel ? collectiveOf(constants, source) : named.collective,
    }
    if (settings.prefixCaching && options.reuse !== false)
      reuse = carryReuse(fitted.reuse, fit.run, run, settings.blockSize)
  }
  const lastMs = run.reduce((most, request) => Math.max(most, request.lastTokenMs), 0)
  const cutMs = lastMs * EARLY_SHARE
  const cut = settings.tensorParallel > 1
  if (cut) {
    const constants = fitCollectives(subject, engineConstants(named), reuse, cutMs)
    named = {
      ...named,
      collective: collectiveOf(constants, `${subject.name}, up to ${(cutMs / 1000).toFixed(1)} s`),
    }
  }
  const constants = engineConstants(named)
  const blocks = settings.blocks ?? ampleBlocks(run, settings.blockSize)
  const once = () => {
    const table = createRequestTable(replayRequests(run, byQueue))
    const price = createStepPrice(subject.tables, settings, constants)
    const startMs = performance.now()
    const done = runEngine({
      table,
      settings,
      blocks,
      price,
      constants,
      ...(reuse === undefined ? {} : { reuse }),
    })
    return { table, done, wallMs: performance.now() - startMs }
  }
  const first = once()
  let last = first
  for (let i = 1; i < (options.replays ?? 1); i++) last = once()
  const { table, done, wallMs } = last
  checkFinished(table, run, blocks)
  if (byQueue) table.queuedMs.set(table.readyMs)
  const all = errorSummary(run, table)
  // What came before the cut was fitted on, except the wait of requests that met no queue, which all came early.
  const later = cut ? errorSummary(run, table, (r) => r.scheduledMs > cutMs) : all
  const prefixTokens = reuse?.prefixTokens ?? new Int32Array(0)
  return {
    table,
    result: {
      ...later,
      ttftUnqueued: all.ttftUnqueued,
      over: cut
        ? `requests scheduled after ${(cutMs / 1000).toFixed(1)} s (ttftUnqueued: all)`
        : 'all requests',
      all,
      wallMs,
      coldWallMs: first.wallMs,
      events: done.events,
      steps: done.steps,
      preemptions: done.preemptions,
      virtualMs: done.endMs,
      realMs: lastMs,
      speedup: done.endMs / wallMs,
      eventsPerSec: (done.events / wallMs) * 1000,
      kvBlocks: settings.blocks ?? null,
      constants: {
        ...named,
        reuse: {
          prompts: prefixTokens.reduce((sum, tokens) => sum + (tokens > 0 ? 1 : 0), 0),
          tokens: prefixTokens.reduce((sum, tokens) => sum + tokens, 0),
          fittedOn: reuse === undefined ? 'none' : named.host.fittedOn,
        },
      },
    },
  }
}

/** A fit on the run under test says nothing about prediction, and must not pass for it. */
function sameRun(a: FitRun, b: FitRun): boolean {
  return (
    a.run.length === b.run.length &&
    a.run.every((request, i) => request.lastTokenMs === b.run[i]?.lastTokenMs)
  )
}

function collectiveOf(
  constants: { readonly collectiveUs: number; readonly collectiveBytesPerUs: number },
  fittedOn: string,
): NamedConstants['collective'] {
  return { fixedUs: constants.collectiveUs, bytesPerUs: constants.collectiveBytesPerUs, fittedOn }
}

/** Where the metadata does not say how many blocks there were, the pool never runs out. */
function ampleBlocks(run: readonly RecordedRequest[], blockSize: number): number {
  return run.reduce(
    (sum, r) => sum + Math.ceil((r.promptTokens + r.outputTokens) / blockSize) + 1,
    1,
  )
}

function checkFinished(table: RequestTable, run: readonly RecordedRequest[], blocks: number): void {
  const stuck = table.lastTokenMs.findIndex((ms) => Number.isNaN(ms))
  if (stuck < 0) return
  throw new HorizonError('ERR_SIM_STUCK', 'a request could never finish', {
    field: run[stuck]?.id ?? String(stuck),
    expected: `a prompt and reply that fit the KV cache of ${blocks} blocks and the model's length`,
    got: `${run[stuck]?.promptTokens} + ${run[stuck]?.outputTokens} tokens`,
  })
}
