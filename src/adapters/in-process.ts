/**
 * @module
 * The in-process adapter: puts a policy around any scheduler whose waiting queue can be taken and put back. Hide, call, restore: the
 * wrapped scheduler sees a shorter queue for one step, and keeps its own batching. What it does not see is back in its old place
 * afterwards, also when it throws, preempts or queues again (paper, sections 4.3 and 5).
 */
import type { Decision } from '../core/decision.js'
import type { BaseScheduler } from '../core/ports.js'
import type { PressureReading, Scheduler } from '../core/scheduler.js'

/** What the adapter needs of a scheduler. */
export interface WrappableScheduler<Item, Batch> extends BaseScheduler<Batch> {
  readonly waiting: {
    /** Gives the whole waiting queue away, in order, and leaves it empty. */
    take(): Item[]
    /** Replaces the waiting queue. */
    put(items: Item[]): void
  }
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
      try {
        return scheduler.schedule()
      } finally {
        restore(scheduler, horizon, before, isHidden, handleOf)
      }
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
  // What stands before everything that waited was put at the head. When nothing visible is left, nothing tells head from tail but that
  // engines put preempted requests at the head and new ones at the tail.
  let numHead = after.findIndex((item) => waitedBefore.has(item))
  if (numHead === -1) numHead = countRunningAtHead(after, horizon, handleOf)
  const head = after.slice(0, numHead)
  const inHead = new Set(head)
  const kept = before.filter((item) => left.has(item) || isHidden.has(item))
  const tail = after.filter((item) => !waitedBefore.has(item) && !inHead.has(item))
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

function countRunningAtHead<Item>(
  queue: readonly Item[],
  horizon: Scheduler,
  handleOf: (item: Item) => number,
): number {
  let n = 0
  try {
    while (n < queue.length && isRunning(horizon, handleOf(queue[n]!))) n += 1
  } catch {
    // The queue comes first: once it stands again, the same call throws to the caller.
  }
  return n
}

function isRunning(horizon: Scheduler, handle: number): boolean {
  return horizon.has(handle) && horizon.isScheduled(handle)
}
