/**
 * @module
 * The in-process adapter: puts a policy around any scheduler whose waiting queue can be taken and put back. Hide, call, restore: the
 * wrapped scheduler sees a shorter queue for one step, and keeps its own batching. What it does not see is back in its old place
 * afterwards, also when it throws, preempts or queues again (paper, sections 4.3 and 5).
 */
import type { Decision } from '../core/decision.js'
import type { BaseScheduler } from '../core/ports.js'
import type { Scheduler } from '../core/scheduler.js'
import type { PressureReading } from '../core/scheduler-options.js'

/** What the adapter needs of a scheduler. */
export interface WrappableScheduler<Item, Batch> extends BaseScheduler<Batch> {
  readonly waiting: {
    /** Gives the whole waiting queue away, in order, and leaves it empty. */
    take(): Item[]
    /** Replaces the waiting queue. */
    put(items: Item[]): void
  }
  /**
   * Items that are decoded and still hold their place in the batch, as of the last `schedule`: where the next stage has not taken them
   * yet. They may be named in every step. Without this, a place counts as free when the runtime says `enterDownstream`.
   */
  handedOver?(): Iterable<Item>
}

export interface WrapOptions<Item> {
  /** The handle that `arrive` gave for an item. */
  readonly handleOf: (item: Item) => number
  /** Whether the item may never be hidden: it holds KV, or the engine promotes it only when it is visited. @default () => false */
  readonly neverHide?: (item: Item) => boolean
}

/** A scheduler under a policy. */
export interface WrappedScheduler<Batch> {
  /** One step: decide, hide, schedule, restore. Throws what the wrapped scheduler throws, after restoring. */
  step(nowMs: number, pressure?: number | PressureReading, downstreamActive?: boolean): Batch
  readonly decision: Decision
}

/**
 * Wraps `scheduler`. Items that left its queue in a step are reported as admitted; the runtime reports progress and ends itself.
 * An item that the horizon does not know (its handle is stale) is never hidden.
 * A request that arrives and leaves the queue inside one call of `schedule` was in no queue that the adapter saw: admit it yourself.
 */
export function wrap<Item, Batch>(
  scheduler: WrappableScheduler<Item, Batch>,
  horizon: Scheduler,
  options: WrapOptions<Item>,
): WrappedScheduler<Batch> {
  const { handleOf, neverHide } = options
  return {
    get decision() {
      return horizon.decision
    },
    step(nowMs, pressure, downstreamActive) {
      horizon.step(nowMs, pressure, downstreamActive)
      const before = scheduler.waiting.take()
      const isHidden = new Set<Item>()
      try {
        for (const item of before) {
          const handle = handleOf(item)
          if (neverHide?.(item) !== true && horizon.has(handle) && !horizon.isVisible(handle))
            isHidden.add(item)
        }
      } catch (error) {
        scheduler.waiting.put(before)
        throw error
      }
      scheduler.waiting.put(before.filter((item) => !isHidden.has(item)))
      let batch: Batch
      try {
        batch = scheduler.schedule()
      } finally {
        restore(scheduler, horizon, before, isHidden, handleOf)
      }
      for (const item of scheduler.handedOver?.() ?? []) {
        const handle = handleOf(item)
        if (isRunning(horizon, handle)) horizon.handedOver(handle)
      }
      return batch
    },
  }
}

/**
 * Puts the queue together again: what the step queued anew (preempted, re-queued) stands where the scheduler put it, at the head or at the
 * tail; everything that was waiting before and still is stands in its old order.
 */
function restore<Item, Batch>(
  scheduler: WrappableScheduler<Item, Batch>,
  horizon: Scheduler,
  before: readonly Item[],
  isHidden: ReadonlySet<Item>,
  handleOf: (item: Item) => number,
): void {
  const after = scheduler.waiting.take()
  const waitedBefore = new Set(before)
  const left = new Set(after)
  const isOld = (item: Item): boolean => waitedBefore.has(item)
  const firstOld = after.findIndex(isOld)
  const lastOld = after.findLastIndex(isOld)
  // What stands before all that waited was put at the head, what stands behind it at the tail. A preempted request between them was put
  // at the head before another was queued again there. When nothing visible is left, engines tell by what they do: preempted requests
  // go to the head and new ones to the tail.
  const running = runningOf(after, horizon, handleOf)
  const numLeading = firstOld === -1 ? after.findIndex((item) => !running.has(item)) : firstOld
  const endOfHead = firstOld === -1 ? 0 : lastOld
  const isHead = (item: Item, at: number): boolean =>
    !isOld(item) && (at < numLeading || numLeading === -1 || (at < endOfHead && running.has(item)))
  const head = after.filter(isHead)
  const tail = after.filter((item, at) => !isOld(item) && !isHead(item, at))
  const kept = before.filter((item) => left.has(item) || isHidden.has(item))
  scheduler.waiting.put([...head, ...kept, ...tail])
  for (const item of before) {
    if (left.has(item) || isHidden.has(item)) continue
    const handle = handleOf(item)
    if (horizon.has(handle) && horizon.isWaiting(handle)) horizon.admit(handle)
  }
  for (const item of after) {
    if (waitedBefore.has(item)) continue
    const handle = handleOf(item)
    if (isRunning(horizon, handle)) horizon.preempt(handle)
  }
}

function runningOf<Item>(
  queue: readonly Item[],
  horizon: Scheduler,
  handleOf: (item: Item) => number,
): ReadonlySet<Item> {
  const running = new Set<Item>()
  try {
    for (const item of queue) if (isRunning(horizon, handleOf(item))) running.add(item)
  } catch {
    // The queue comes first: once it stands again, the same call throws to the caller.
  }
  return running
}

function isRunning(horizon: Scheduler, handle: number): boolean {
  return horizon.has(handle) && horizon.isScheduled(handle)
}
