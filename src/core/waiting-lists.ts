/**
 * @module
 * The FIFO lists in which waiting requests stand, one per (class, SLO, bucket of the estimate). What the cursors mean is in
 * `waiting-set.ts`. Lists of a class's own SLO live for good; lists of a per-request SLO end when they are empty. While a class has
 * many of those, further SLOs share the lists of eight SLOs per octave, the strict side of each: a change of an estimate walks every list.
 */
import { bucketMs, bucketOf, NUM_BUCKETS } from './bucket.js'
import { integers } from './columns.js'
import type { Entry } from './heap.js'
import type { ClassTable } from './request-class.js'

/**
 * Parts of a list, and how heaps order lists by them. Beside those that a status names (`ORDINARY` and `LOST` by deadline, `PROTECTED` in
 * the base order): all that is not lost, in the base order; protected by deadline; ordinary in the base order; all by arrival; and one
 * request alone.
 */
export const LIVE = 3
export const URGENT = 4
export const CALM = 5
export const ALL = 6
export const SINGLE = 7

export interface WaitingList {
  readonly id: number
  readonly classIndex: number
  head: number
  tail: number
  /** First request that is not lost, or -1. */
  live: number
  /** First request that is ordinary, or -1. */
  ordinary: number
  /** Protected when `deadline - now < protectMs`; lost when `deadline - now < loseMs`. */
  protectMs: number
  loseMs: number
  /** Edge of the list's bucket: estimated solo work, ms. */
  readonly workMs: number
  /** Key under an order of kind `key`, and what an ms of arrival time adds to it. */
  orderKey: number
  ageing: number
  /** The SLO that its requests are scheduled by, ms. */
  readonly sloMs: number
  /** Its places in the heaps are out of date. */
  isDirty: boolean
  /** Its places: by segment, and by the instant of its next crossing. */
  readonly places: Entry[]
  /** Its name among the lists of per-request SLOs; empty for a list of the class's own. */
  readonly custom: string
}

export interface WaitingLists {
  readonly byId: readonly WaitingList[]
  /** Lists per class; what a change of an estimate walks. */
  readonly ofClass: readonly WaitingList[][]
  /** The list of a class and bucket; of the class's own SLO where none is given. @hot */
  find(classIndex: number, bucket: number, sloMs: number | undefined): WaitingList
  /** Ends an empty list of a per-request SLO; no effect on others. The caller has it out of every heap. */
  retire(list: WaitingList): void
}

/** The strict side of the bucket of an SLO, ms. */
export function strictSloMs(sloMs: number): number {
  const bucket = bucketOf(sloMs)
  const edgeMs = bucketMs[bucket]!
  return edgeMs <= sloMs ? edgeMs : bucket === 0 ? 0 : bucketMs[bucket - 1]!
}

/** `onCreate` fills in what follows from the estimates and the order; a class may have `mostOwn` lists of exact per-request SLOs. */
export function createWaitingLists(
  classes: ClassTable,
  mostOwn: number,
  onCreate: (list: WaitingList, sloMs: number) => void,
): WaitingLists {
  const byId: WaitingList[] = []
  const ofClass: WaitingList[][] = classes.names.map(() => [])
  const own: (WaitingList | undefined)[] = new Array(classes.count * NUM_BUCKETS).fill(undefined)
  const customs = new Map<string, WaitingList>()
  /** How many of them a class has. */
  const numCustoms = integers(classes.count)
  const unused: number[] = []

  const create = (c: number, bucket: number, sloMs: number, custom: string): WaitingList => {
    const id = unused[unused.length - 1] ?? byId.length
    const list: WaitingList = {
      id,
      classIndex: c,
      head: -1,
      tail: -1,
      live: -1,
      ordinary: -1,
      // NaN, so that the engine stores them as doubles from the start.
      protectMs: NaN,
      loseMs: NaN,
      workMs: bucketMs[bucket]!,
      orderKey: NaN,
      ageing: 0,
      sloMs,
      isDirty: false,
      places: [],
      custom,
    }
    // First, for an order may refuse to give it a key.
    onCreate(list, sloMs)
    unused.pop()
    byId[id] = list
    ofClass[c]!.push(list)
    return list
  }

  return {
    byId,
    ofClass,
    find(c, bucket, sloMs) {
      if (sloMs === undefined) {
        const at = c * NUM_BUCKETS + bucket
        own[at] ??= create(c, bucket, classes.sloMs[c]!, '')
        return own[at]
      }
      const name = `${c}:${bucket}:${sloMs}`
      const list = customs.get(name)
      if (list !== undefined) return list
      const heldMs = numCustoms[c]! < mostOwn ? sloMs : strictSloMs(sloMs)
      const shared = `${c}:${bucket}:${heldMs}`
      const other = customs.get(shared)
      if (other !== undefined) return other
      const made = create(c, bucket, heldMs, shared)
      customs.set(shared, made)
      numCustoms[c]! += 1
      return made
    },
    retire(list) {
      if (list.custom === '') return
      customs.delete(list.custom)
      numCustoms[list.classIndex]! -= 1
      const siblings = ofClass[list.classIndex]!
      siblings[siblings.indexOf(list)] = siblings[siblings.length - 1]!
      siblings.pop()
      unused.push(list.id)
    },
  }
}
