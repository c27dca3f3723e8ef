/**
 * @module
 * The sweep on one GPU: step time of each stage alone on its side of every row, and of both at once, from which `calibrate` chooses
 * a ladder. Rows are measured in a seeded random order, so that a GPU that warms up does not slope the curve.
 */
import type { CudaLibrary } from './cuda.js'
import type { GpuStage, GpuStages } from './gpu-stages.js'
import type { GreenContextLadder } from './green-context-ladder.js'
import type { Side } from './ladder-row.js'
import { createStepTimer, quantile } from './step-timer.js'

/** What was measured on one row; times are medians of steps, ms. `NaN` where a side has no SMs. */
export interface SweepRow {
  /** Row of the ladder. */
  readonly index: number
  readonly kind: 'co-running' | 'aggressive' | 'off'
  readonly sharedSms: number
  readonly downstreamSms: number
  readonly sharedAloneMs: number
  readonly sharedAloneP95Ms: number
  readonly downstreamAloneMs: number
  readonly sharedCoRunMs: number
  readonly sharedCoRunP95Ms: number
  readonly downstreamCoRunMs: number
  /** Achieved by the memory-bound stage. */
  readonly aloneGbPerSec: number
  readonly coRunGbPerSec: number
}

/** How much to measure. */
export interface SweepOptions {
  /** Steps per measurement. @default 60 */
  readonly steps?: number
  /** Order of the rows. @default 1 */
  readonly seed?: number
  /** Called again and again while both stages run at once, until it returns true (or `OBSERVE_MS` have passed). @default not at all */
  readonly observe?: (() => boolean) | undefined
  /** Told after each row. */
  readonly onRow?: (row: SweepRow, done: number, total: number) => void
}

/** Measures every row of a ladder. Leaves the primary context current. */
export function sweepLadder(
  cuda: CudaLibrary,
  ladder: GreenContextLadder,
  stages: GpuStages,
  options: SweepOptions = {},
): SweepRow[] {
  const steps = options.steps ?? 60
  const order = shuffled(ladder.rows.length, options.seed ?? 1)
  const results: SweepRow[] = new Array(ladder.rows.length)
  order.forEach((index, done) => {
    const row = measureRow(cuda, ladder, stages, index, steps, options.observe)
    results[index] = row
    options.onRow?.(row, done + 1, order.length)
  })
  cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'shared'))
  return results
}

function measureRow(
  cuda: CudaLibrary,
  ladder: GreenContextLadder,
  stages: GpuStages,
  index: number,
  steps: number,
  observe: (() => boolean) | undefined,
): SweepRow {
  const row = ladder.rows[index] as (typeof ladder.rows)[number]
  // On a row without a partition both stages run on the whole device at once: what happens with no cap at all.
  const sideOf = (side: Side): Placed => ({
    context: ladder.context(index, side),
    stream: ladder.stream(index, side),
    stage: side === 'shared' ? stages.memory : stages.compute,
  })
  const shared = sideOf('shared')
  const downstream = sideOf('downstream')
  const alone = {
    shared: runAlone(cuda, shared, steps),
    downstream: runAlone(cuda, downstream, steps),
  }
  const aloneMs = {
    shared: quantile(alone.shared, 0.5),
    downstream: quantile(alone.downstream, 0.5),
  }
  const sharedUnderLoad = runBeside(
    cuda,
    shared,
    downstream,
    steps,
    aloneMs.shared,
    aloneMs.downstream,
  )
  const downstreamUnderLoad = runBeside(
    cuda,
    downstream,
    shared,
    steps,
    aloneMs.downstream,
    aloneMs.shared,
  )
  if (observe !== undefined) keepBusy(cuda, shared, downstream, observe)
  const sharedCoRunMs = quantile(sharedUnderLoad, 0.5)
  const gbPerSec = (ms: number): number => stages.memory.bytesPerStep / ms / 1e6
  return {
    index,
    kind: row.kind,
    sharedSms: row.sharedSms,
    downstreamSms: row.downstreamSms,
    sharedAloneMs: aloneMs.shared,
    sharedAloneP95Ms: quantile(alone.shared, 0.95),
    downstreamAloneMs: aloneMs.downstream,
    sharedCoRunMs,
    sharedCoRunP95Ms: quantile(sharedUnderLoad, 0.95),
    downstreamCoRunMs: quantile(downstreamUnderLoad, 0.5),
    aloneGbPerSec: gbPerSec(aloneMs.shared),
    coRunGbPerSec: gbPerSec(sharedCoRunMs),
  }
}

/** Longest time that a row is kept running for an observer: twice NVML's slowest period, and a little. */
const OBSERVE_MS = 2500

/** Runs both stages until the observer has seen enough. */
function keepBusy(cuda: CudaLibrary, a: Placed, b: Placed, observe: () => boolean): void {
  const endMs = performance.now() + OBSERVE_MS
  while (!observe() && performance.now() < endMs) {
    for (const { context, stream, stage } of [a, b]) {
      cuda.call('cuCtxSetCurrent', context)
      for (let i = 0; i < 4; i++) stage.enqueue(stream)
    }
    // One side may finish first; four steps are short against a period of the counters.
    for (const { stream } of [a, b]) cuda.call('cuStreamSynchronize', stream)
  }
}

/** A stage on a stream. */
interface Placed {
  readonly context: bigint
  readonly stream: bigint
  readonly stage: GpuStage
}

/** Times of `steps` steps with nothing else on the GPU, after two to warm up. */
function runAlone(cuda: CudaLibrary, placed: Placed, steps: number): number[] {
  cuda.call('cuCtxSetCurrent', placed.context)
  const timer = createStepTimer(cuda, steps)
  try {
    for (let i = 0; i < 2; i++) placed.stage.enqueue(placed.stream)
    timer.mark(placed.stream)
    for (let i = 0; i < steps; i++) {
      placed.stage.enqueue(placed.stream)
      timer.mark(placed.stream)
    }
    return timer.finish()
  } finally {
    timer.close()
  }
}

/**
 * Times of `steps` steps of one stage while the other is busy from before the first to after the last. Work is enqueued in
 * order of expected time, so that neither queue runs dry and neither fills up.
 */
function runBeside(
  cuda: CudaLibrary,
  measured: Placed,
  load: Placed,
  steps: number,
  measuredMs: number,
  loadMs: number,
): number[] {
  cuda.call('cuCtxSetCurrent', measured.context)
  const timer = createStepTimer(cuda, steps)
  try {
    // The load may be slowed less than what is measured beside it: three times the time alone keeps it busy to the end.
    const numLoad = Math.min(20 * steps, Math.ceil((steps * measuredMs * 3) / loadMs) + 4)
    let loaded = 0
    const enqueueLoad = (upTo: number): void => {
      if (loaded >= Math.min(upTo, numLoad)) return
      cuda.call('cuCtxSetCurrent', load.context)
      for (; loaded < Math.min(upTo, numLoad); loaded++) load.stage.enqueue(load.stream)
      cuda.call('cuCtxSetCurrent', measured.context)
    }
    enqueueLoad(4)
    timer.mark(measured.stream)
    for (let i = 0; i < steps; i++) {
      measured.stage.enqueue(measured.stream)
      timer.mark(measured.stream)
      enqueueLoad(4 + Math.ceil(((i + 1) * numLoad) / steps))
    }
    const times = timer.finish()
    cuda.call('cuStreamSynchronize', load.stream)
    return times
  } finally {
    timer.close()
  }
}

/** 0..n-1 in an order fixed by the seed (Fisher-Yates over xorshift32). */
export function shuffled(n: number, seed: number): number[] {
  const order = Array.from({ length: n }, (_, i) => i)
  let state = seed | 0 || 1
  for (let i = n - 1; i > 0; i--) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    const j = (state >>> 0) % (i + 1)
    ;[order[i], order[j]] = [order[j] as number, order[i] as number]
  }
  return order
}
