/**
 * @module
 * A vLLM v1 engine in virtual time. Its core is one thread that drains the input queue, schedules a step, launches it, and, with one step
 * already under way, waits for the older one's tokens; so the GPU finds its next step ready when the last ends. A request's
 * clock starts when the core drains it, as the engine's own metrics do. Data-parallel engines step together.
 */
import { createSimulation } from '../simulation.js'
import { type Batch, createBatch } from './batch.js'
import type { EngineSettings } from './engine-settings.js'
import { createKvPool } from './kv-pool.js'
import type { PromptReuse } from './prompt-reuse.js'
import type { RequestTable } from './request-table.js'
import { createScheduler, type EngineScheduler, type SchedulerOptions } from './scheduler.js'
import type { EngineConstants, StepPrice } from './step-price.js'

export interface EngineRun {
  readonly steps: number
  readonly events: number
  readonly preemptions: number
  readonly endMs: number
}

/** Called with each step's batches, start and end on the GPU, for looking into a run. */
export type StepObserver = (batches: readonly Batch[], startMs: number, endMs: number) => void

/** Runs all requests of the table to their end and fills in their times. */
export function runEngine(options: {
  readonly table: RequestTable
  readonly settings: EngineSettings
  readonly blocks: number
  readonly price: StepPrice
  readonly constants: EngineConstants
  /** Prompts that continue earlier ones; without it all prompts are taken as different. */
  readonly reuse?: PromptReuse
  readonly observe?: StepObserver
  readonly scheduler?: SchedulerOptions
}): EngineRun {
  const { table, settings, price, constants, reuse, observe } = options
  const ranks = settings.dataParallel
  const depth = settings.asyncScheduling ? 2 : 1
  const schedulers: EngineScheduler[] = Array.from({ length: ranks }, () =>
    createScheduler(
      table,
      createKvPool({
        blocks: options.blocks,
        requests: table.count,
        prefixCaching: settings.prefixCaching,
        ...(reuse === undefined
          ? {}
          : {
              prefixOf: reuse.prefixOf,
              prefixBlocks: reuse.prefixTokens.map((tokens) => tokens / settings.blockSize),
            }),
      }),
      settings,
      options.scheduler,
    ),
  )
  const slots: Batch[][] = Array.from({ length: depth }, () =>
    schedulers.map(() => createBatch(settings.maxSeqs)),
  )
  const slotEndMs = new Float64Array(depth)
  /** Requests that lie in each engine's input queue until its core looks. */
  const inboxes: number[][] = schedulers.map(() => [])
  let oldest = 0
  let inFlight = 0
  let gpuFreeMs = 0
  let steps = 0
  let asleep = true
  const sim = createSimulation({ capacity: table.count + 8 })

  function drain(): void {
    for (let rank = 0; rank < ranks; rank++) {
      const inbox = inboxes[rank] as number[]
      for (const request of inbox) {
        table.queuedMs[request] = sim.nowMs
        schedulers[rank]?.enqueue(request)
      }
      inbox.length = 0
    }
  }

  /** The front end weighs a waiting request four times a running one; the first of equals wins. */
  function leastLoaded(): number {
    let best = 0
    let least = Infinity
    for (let rank = 0; rank < ranks; rank++) {
      const { waiting, running } = schedulers[rank] as EngineScheduler
      const load = 4 * (waiting + (inboxes[rank] as number[]).length) + running
      if (load < least) {
        least = load
        best = rank
      }
    }
    return best
  }

  const arrive = sim.kind(0, (request) => {
    inboxes[leastLoaded()]?.push(request)
    if (asleep) {
      asleep = false
      sim.after(0, turn)
    }
  })

  const turn = sim.kind(1, () => {
    drain()
    const slot = (oldest + inFlight) % depth
    const batches = slots[slot] as Batch[]
    let sequences = 0
    for (let rank = 0; rank < ranks; rank++) {
      const scheduler = schedulers[rank] as EngineScheduler
      scheduler.schedule(batches[rank] as Batch, sim.nowMs)
      sequences += (batches[rank] as Batch).sequences
    }
    let launchedMs = sim.nowMs
    if (sequences > 0) {
      launchedMs += constants.launchMs
      const startMs = Math.max(launchedMs, gpuFreeMs)
      gpuFreeMs = startMs + price.stepMs(batches)
      slotEndMs[slot] = gpuFreeMs
      observe?.(batches, startMs, gpuFreeMs)
      inFlight++
      steps++
      if (inFlight < depth) {
        sim.at(launchedMs, turn)
        return
      }
    }
    if (inFlight === 0) asleep = true
    else sim.at(Math.max(launchedMs, (slotEndMs[oldest] as number) + constants.outputMs), collect)
  })

  const collect = sim.kind(1, () => {
    const batches = slots[oldest] as Batch[]
    for (let rank = 0; rank < ranks; rank++)
      (schedulers[rank] as EngineScheduler).collect(batches[rank] as Batch, sim.nowMs)
    oldest = (oldest + 1) % depth
    inFlight--
    sim.after(0, turn)
  })

  for (let request = 0; request < table.count; request++)
    sim.at(table.readyMs[request] as number, arrive, request)
  sim.run()
  let preemptions = 0
  for (const scheduler of schedulers) preemptions += scheduler.preemptions
  return { steps, events: sim.events, preemptions, endMs: sim.nowMs }
}
