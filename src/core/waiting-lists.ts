/**
 * @module
 * The FIFO lists in which waiting requests stand, one per (class, SLO, bucket of the estimate). Columns only; what the cursors
 * mean is in `waiting-set.ts`. Lists of a class's own SLO live for good; lists of a per-request SLO are recycled when empty.
 */
import { bucketMs, NUM_BUCKETS } from './bucket.js'
import { grown } from './list-heap.js'
import type { ClassTable } from './request-class.js'

const FIRST_CAPACITY = 64

export class WaitingLists {
  head: Int32Array = new Int32Array(FIRST_CAPACITY)
  tail: Int32Array = new Int32Array(FIRST_CAPACITY)
  /** First request that is not lost, or -1. */
  firstLive: Int32Array = new Int32Array(FIRST_CAPACITY)
  /** First request that is ordinary, or -1. */
  firstOrdinary: Int32Array = new Int32Array(FIRST_CAPACITY)
  /** Protected when `deadline - now < protectMs`; lost when `deadline - now < loseMs`. */
  protectMs: Float64Array = new Float64Array(FIRST_CAPACITY)
  loseMs: Float64Array = new Float64Array(FIRST_CAPACITY)
  /** Edge of the list's bucket: estimated solo work, ms. */
  workMs: Float64Array = new Float64Array(FIRST_CAPACITY)
  /** Key under an order of kind `key`. */
  orderKey: Float64Array = new Float64Array(FIRST_CAPACITY)
  classIndex: Uint8Array = new Uint8Array(FIRST_CAPACITY)
  /** Lists per class; what a change of an estimate walks. */
  readonly ofClass: number[][]
  capacity = FIRST_CAPACITY

  #numLists = 0
  readonly #direct: Int32Array
  readonly #custom = new Map<string, number>()
  readonly #customKey = new Map<number, string>()
  readonly #recycled: number[] = []
  readonly #onGrow: (capacity: number) => void
  readonly #onCreate: (list: number, sloMs: number) => void

  constructor(
    classes: ClassTable,
    onGrow: (capacity: number) => void,
    onCreate: (list: number, sloMs: number) => void,
  ) {
    this.#direct = new Int32Array(classes.count * NUM_BUCKETS).fill(-1)
    this.ofClass = Array.from({ length: classes.count }, () => [])
    this.#onGrow = onGrow
    this.#onCreate = onCreate
  }

  /** The list of a class's own SLO. @hot */
  listOf(classIndex: number, bucket: number, sloMs: number): number {
    const at = classIndex * NUM_BUCKETS + bucket
    const list = this.#direct[at]!
    if (list !== -1) return list
    const made = this.#create(classIndex, bucket, sloMs)
    this.#direct[at] = made
    return made
  }

  /** The list of a per-request SLO. */
  customListOf(classIndex: number, bucket: number, sloMs: number): number {
    const key = `${classIndex}:${bucket}:${sloMs}`
    const list = this.#custom.get(key)
    if (list !== undefined) return list
    const made = this.#create(classIndex, bucket, sloMs)
    this.#custom.set(key, made)
    this.#customKey.set(made, key)
    return made
  }

  /** Takes an empty list of a per-request SLO back; no effect on others. The caller has it out of every heap. */
  recycle(list: number): void {
    const key = this.#customKey.get(list)
    if (key === undefined) return
    this.#customKey.delete(list)
    this.#custom.delete(key)
    const siblings = this.ofClass[this.classIndex[list]!]!
    siblings[siblings.indexOf(list)] = siblings[siblings.length - 1]!
    siblings.pop()
    this.#recycled.push(list)
  }

  #create(classIndex: number, bucket: number, sloMs: number): number {
    const list = this.#recycled.pop() ?? this.#numLists++
    if (list === this.capacity) this.#grow()
    this.head[list] = -1
    this.tail[list] = -1
    this.firstLive[list] = -1
    this.firstOrdinary[list] = -1
    this.workMs[list] = bucketMs[bucket]!
    this.classIndex[list] = classIndex
    this.ofClass[classIndex]!.push(list)
    this.#onCreate(list, sloMs)
    return list
  }

  #grow(): void {
    const capacity = this.capacity * 2
    this.head = grown(this.head, capacity)
    this.tail = grown(this.tail, capacity)
    this.firstLive = grown(this.firstLive, capacity)
    this.firstOrdinary = grown(this.firstOrdinary, capacity)
    this.protectMs = grown(this.protectMs, capacity)
    this.loseMs = grown(this.loseMs, capacity)
    this.workMs = grown(this.workMs, capacity)
    this.orderKey = grown(this.orderKey, capacity)
    this.classIndex = grown(this.classIndex, capacity)
    this.capacity = capacity
    this.#onGrow(capacity)
  }
}
