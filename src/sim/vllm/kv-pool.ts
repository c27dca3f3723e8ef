/**
 * @module
 * The block pool of the KV cache. Blocks are taken from the head of a free list and returned to its tail, a request's last block
 * first, so that the head of a prefix is evicted last. With prefix caching a block keeps its contents until it is taken again, and
 * whoever has the same tokens may share or revive it: a request that was preempted, or a later one whose prompt continues an
 * earlier prompt. A block is known by (request, position); where a prompt shares a prefix, by the request it was first seen in.
 */
export interface KvPool {
  readonly free: number
  /** Leading blocks of the request, at most `limit`, whose contents are in the pool. 0 while it holds blocks. */
  cached(request: number, limit: number): number
  /** Blocks that holding the first `count` cached ones would take off the free list. */
  idle(request: number, count: number): number
  /** Takes hold of the first `count` cached blocks for a request that holds none. */
  claim(request: number, count: number): void
  /** Grows the request to `blocks` blocks if the pool has them; false, and nothing changed, otherwise. */
  grow(request: number, blocks: number): boolean
  /** Lets go of all blocks of the request; the first `full` of them hold complete contents. */
  release(request: number, full: number): void
}

export interface KvPoolOptions {
  /** All blocks, with the one that vLLM keeps as its null block and never hands out. */
  readonly blocks: number
  readonly requests: number
  readonly prefixCaching: boolean
  /** Per request, the earlier request whose prompt its own continues, -1 for none; and the whole blocks they share. */
  readonly prefixOf?: Int32Array
  readonly prefixBlocks?: Int32Array
}

export function createKvPool(options: KvPoolOptions): KvPool {
  const { blocks, requests, prefixCaching, prefixOf, prefixBlocks } = options
  // A circular doubly linked list through entry 0, which stands for the null block.
  const next = new Int32Array(blocks)
  const previous = new Int32Array(blocks)
  const holders = new Int32Array(blocks)
  const contentOf = new Int32Array(blocks).fill(-1)
  const contentAt = new Int32Array(blocks)
  for (let block = 0; block < blocks; block++) {
    next[block] = (block + 1) % blocks
    previous[block] = (block + blocks - 1) % blocks
  }
  let free = blocks - 1
  /** Blocks the request holds, in order. */
  const held: number[][] = Array.from({ length: requests }, () => [])
  /** The block that last received the contents (request, position). */
  const latest: number[][] = Array.from({ length: requests }, () => [])

  /** The request under whose name the block at `position` of `request` is known. */
  function source(request: number, position: number): number {
    let name = request
    if (prefixOf === undefined || prefixBlocks === undefined) return name
    while (prefixOf[name] !== -1 && position < (prefixBlocks[name] as number))
      name = prefixOf[name] as number
    return name
  }

  function lookup(request: number, position: number): number {
    const name = source(request, position)
    const block = (latest[name] as number[])[position]
    if (block === undefined || contentOf[block] !== name || contentAt[block] !== position) return 0
    return block
  }

  function hold(block: number): void {
    holders[block] = (holders[block] as number) + 1
    if (holders[block] !== 1) return
    const after = next[block] as number
    const before = previous[block] as number
    next[before] = after
    previous[after] = before
    free--
  }

  function letGo(block: number): void {
    holders[block] = (holders[block] as number) - 1
    if (holders[block] !== 0) return
    const tail = previous[0] as number
    next[tail] = block
    previous[block] = tail
    next[block] = 0
    previous[0] = block
    free++
  }

  return {
    get free() {
      return free
    },
    cached(request, limit) {
      if (!prefixCaching || (held[request] as number[]).length > 0) return 0
      let count = 0
      while (count < limit && lookup(request, count) !== 0) count++
      return count
    },
    idle(request, count) {
      let idle = 0
      for (let i = 0; i < count; i++) if (holders[lookup(request, i)] === 0) idle++
      return idle
    },
    claim(request, count) {
      for (let i = 0; i < count; i++) {
        const block = lookup(request, i)
        hold(block)
        ;(held[request] as number[]).push(block)
      }
    },
    grow(request, wanted) {
      const list = held[request] as number[]
      if (wanted - list.length > free) return false
      for (let i = list.length; i < wanted; i++) {
        const block = next[0] as number
        hold(block)
        const name = source(request, i)
        contentOf[block] = name
        contentAt[block] = i
        ;(latest[name] as number[])[i] = block
        list.push(block)
      }
      return true
    },
    release(request, full) {
      const list = held[request] as number[]
      for (let i = list.length - 1; i >= 0; i--) {
        const block = list[i] as number
        if (i >= full && holders[block] === 1) contentOf[block] = -1
        letGo(block)
      }
      list.length = 0
    },
  }
}
