/**
 * @module
 * An indexed binary heap over waiting lists, ordered by (key, tie). Keys live in a `HeapSpace` shared by all heaps of one kind:
 * the caller writes `space.key[list]` and `space.tie[list]`, then calls `fix`, so that no double crosses a call.
 */

/** Keys and positions of every list for one kind of heap. `pos` is -1 for a list that is in no heap of the kind. */
export class HeapSpace {
  key: Float64Array
  tie: Float64Array
  pos: Int32Array

  constructor(capacity: number) {
    this.key = new Float64Array(capacity)
    this.tie = new Float64Array(capacity)
    this.pos = new Int32Array(capacity).fill(-1)
  }

  grow(capacity: number): void {
    this.key = grown(this.key, capacity)
    this.tie = grown(this.tie, capacity)
    this.pos = grown(this.pos, capacity, -1)
  }
}

export class ListHeap {
  /** Lists in heap order; children of `i` are `2i + 1` and `2i + 2`. Read by the lazy merge. */
  items: Int32Array = new Int32Array(16)
  size = 0
  readonly space: HeapSpace

  constructor(space: HeapSpace) {
    this.space = space
  }

  /** Inserts the list, or moves it to where its new key belongs. @hot */
  fix(list: number): void {
    const { pos } = this.space
    let at = pos[list]!
    if (at === -1) {
      if (this.size === this.items.length) {
        this.items = grown(this.items, this.size * 2)
      }
      at = this.size++
      this.items[at] = list
      pos[list] = at
    }
    this.#siftUp(at)
    if (pos[list] === at) this.#siftDown(at)
  }

  /** Takes the list out; no effect when it is not in. @hot */
  remove(list: number): void {
    const { pos } = this.space
    const at = pos[list]!
    if (at === -1) return
    pos[list] = -1
    const last = this.items[--this.size]!
    if (at === this.size) return
    this.items[at] = last
    pos[last] = at
    this.#siftUp(at)
    if (pos[last] === at) this.#siftDown(at)
  }

  #siftUp(from: number): void {
    const { key, tie, pos } = this.space
    const { items } = this
    const list = items[from]!
    let at = from
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = items[up]!
      if (key[parent]! < key[list]! || (key[parent] === key[list] && tie[parent]! <= tie[list]!))
        break
      items[at] = parent
      pos[parent] = at
      at = up
    }
    items[at] = list
    pos[list] = at
  }

  #siftDown(from: number): void {
    const { key, tie, pos } = this.space
    const { items, size } = this
    const list = items[from]!
    let at = from
    for (;;) {
      let down = at * 2 + 1
      if (down >= size) break
      let child = items[down]!
      if (down + 1 < size) {
        const right = items[down + 1]!
        if (key[right]! < key[child]! || (key[right] === key[child] && tie[right]! < tie[child]!)) {
          child = right
          down += 1
        }
      }
      if (key[list]! < key[child]! || (key[list] === key[child] && tie[list]! <= tie[child]!)) break
      items[at] = child
      pos[child] = at
      at = down
    }
    items[at] = list
    pos[list] = at
  }
}

/** A copy of a column with room for `capacity`, what is new filled with `filler`. */
export function grown<Column extends Float64Array | Int32Array | Uint8Array>(
  column: Column,
  capacity: number,
  filler = 0,
): Column {
  const target = new (column.constructor as new (length: number) => Column)(capacity)
  target.fill(filler, column.length)
  target.set(column)
  return target
}
