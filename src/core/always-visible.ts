/**
 * @module
 * Requests that wait and must never be hidden: preempted or pinned. A list through the table, last come first, as engines put
 * preempted requests back.
 */
import { CHUNK_BITS, CHUNK_MASK, PREEMPTED, type RequestTable } from './request-table.js'
import type { Signals } from './signals.js'

export interface AlwaysVisible {
  /** `[0]`: head of the list, linked by `next`; -1 when it is empty. */
  readonly head: Int32Array
  link(slot: number): void
  /** The caller flushes or restarts a view that may stand on the request, unless the view has just given it. */
  unlink(slot: number): void
}

export function createAlwaysVisible({ chunks }: RequestTable, signals: Signals): AlwaysVisible {
  const head = Int32Array.of(-1)
  /** Makes two neighbours, of which either may be none, point at each other. */
  const join = (prev: number, next: number): void => {
    if (prev === -1) head[0] = next
    else chunks[prev >> CHUNK_BITS]!.next[prev & CHUNK_MASK] = next
    if (next !== -1) chunks[next >> CHUNK_BITS]!.prev[next & CHUNK_MASK] = prev
  }
  return {
    head,
    link(slot) {
      chunks[slot >> CHUNK_BITS]!.state[slot & CHUNK_MASK] = PREEMPTED
      join(slot, head[0]!)
      join(-1, slot)
      signals.alwaysVisible += 1
    },
    unlink(slot) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      join(chunk.prev[i]!, chunk.next[i]!)
      signals.alwaysVisible -= 1
    },
  }
}
