/**
 * @module
 * The FIFO lists in which waiting requests stand, one per (class, SLO, bucket of the estimate). What the cursors mean is in
 * `waiting-set.ts`. Lists of a class's own SLO live for good; lists of a per-request SLO end when they are empty.
 */
import { bucketMs, NUM_BUCKETS } from './bucket.js'
import type { Entry } from './heap.js'
import type { ClassTable } from './request-class.js'

/** Parts of a list, beside those that a status names (`ORDINARY`, `PROTECTED`, `LOST`): all that is not lost, and one request alone. */
export const LIVE = 3
export const SINGLE = 4

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
  /** Key under an order of kind `key`. */
  orderKey: number
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

/** `onCreate` fills in what follows from the estimates and the order. */
export function createWaitingLists(
  classes: ClassTable,
  onCreate: (list: WaitingList, sloMs: number) => void,
): WaitingLists {
  const byId: WaitingList[] = []
  const ofClass: WaitingList[][] = classes.names.map(() => [])
  const own: (WaitingList | undefined)[] = new Array(classes.count * NUM_BUCKETS).fill(undefined)
  const customs = new Map<string, WaitingList>()
  const unused: number[] = []

  const create = (c: number, bucket: number, sloMs: number, custom: string): WaitingList => {
    const id = unused.pop() ?? byId.length
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
      isDirty: false,
      places: [],
      custom,
    }
    byId[id] = list
    ofClass[c]!.push(list)
    onCreate(list, sloMs)
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
      let list = customs.get(name)
      if (list === undefined) {
        list = create(c, bucket, sloMs, name)
        customs.set(name, list)
      }
      return list
    },
    retire(list) {
      if (list.custom === '') return
      customs.delete(list.custom)
      const siblings = ofClass[list.classIndex]!
      siblings[siblings.indexOf(list)] = siblings[siblings.length - 1]!
      siblings.pop()
      unused.push(list.id)
    },
  }
}
