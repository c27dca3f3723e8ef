/**
 * @module
 * One step of a vLLM v1 scheduler (0.19, first come first served): running requests first, one token or the next chunk each, then waiting
 * ones while the token budget, the batch and the blocks allow. When a running request finds no block, the request admitted last gives
 * up all of its blocks and waits at the head of the queue to be computed again. There is no watermark in this version.
 */
import { addToBatch, type Batch, clearBatch } from './batch.js'
import type { EngineSettings } from './engine-settings.js'
import type { KvPool } from './kv-pool.js'
import type { RequestTable } from './request-table.js'

export interface EngineScheduler {
  readonly running: number
  readonly waiting: number
  /** Preemptions so far. */
  readonly preemptions: number
  enqueue(request: number): void
  /** Fills the batch with the next step, which may be empty. `nowMs` stamps requests scheduled for the first time. */
  schedule(batch: Batch, nowMs: number): void
  /** Takes the tokens of a finished step; finished requests leave. Returns how many left. */
  collect(batch: Batch, nowMs: number): number
}

export function createScheduler(
  table: RequestTable,
  pool: KvPool,
  settings: EngineSettings,
): EngineScheduler {
  const { maxSeqs, maxBatchedTokens, blockSize, maxModelLen } = settings
  const running: number[] = []
  // Waiting requests in order; the head is at `waitingHead`, and preempted ones go in front of it.
  let waiting: number[] = []
  let waitingHead = 0
  let preemptions = 0
  const { computed, known, pending, promptTokens, outputTokens } = table

  /** Tokens that the blocks a request holds have room for: most steps need no new block, and need not ask. */
  const room = new Int32Array(table.count)

  const blocksFor = (tokens: number): number => Math.ceil(tokens / blockSize)

  function fits(request: number, tokens: number): boolean {
    if (tokens <= (room[request] as number)) return true
    const blocks = blocksFor(tokens)
    if (!pool.grow(request, blocks)) return false
    room[request] = blocks * blockSize
    return true
  }

  function release(request: number): void {
    const complete = Math.min(computed[request] as number, known[request] as number)
    pool.release(request, Math.floor(complete / blockSize))
    room[request] = 0
  }

  function preemptLast(): number {
    const victim = running.pop() as number
    release(victim)
    computed[victim] = 0
    table.preemptions[victim] = (table.preemptions[victim] as number) + 1
    preemptions++
    if (waitingHead > 0) waiting[--waitingHead] = victim
    else waiting.unshift(victim)
    return victim
  }

  function take(batch: Batch, request: number, tokens: number): void {
    const before = computed[request] as number
    addToBatch(batch, tokens, before)
    computed[request] = before + tokens
    if (before + tokens >= (known[request] as number) + (pending[request] as number)) {
      pending[request] = (pending[request] as number) + 1
      batch.producers[batch.producerCount++] = request
    }
  }

  function scheduleRunning(batch: Batch): { budget: number; preempted: boolean } {
    let budget = maxBatchedTokens
    let preempted = false
    for (let i = 0; i < running.length && budget > 0; i++) {
      const request = running[i] as number
      const unknown = pending[request] as number
      // Its last token is under way: nothing is left to compute.
      if (
        unknown > 0 &&
        (known[request] as number) + unknown >=
          (promptTokens[request] as number) + (outputTokens[request] as number)
      )
        continue
      const have = computed[request] as number
      const tokens = Math.min(
        (known[request] as number) + unknown - have,
        budget,
        maxModelLen - 1 - have,
      )
      if (tokens <= 0) continue
      while (!fits(request, have + tokens)) {
        preempted = true
        if (preemptLast() === request) return { budget, preempted }
      }
      take(batch, request, tokens)
      budget -= tokens
    }
    return { budget, preempted }
  }

  function scheduleWaiting(batch: Batch, allowed: number, nowMs: number): void {
    let budget = allowed
    while (waitingHead < waiting.length && budget > 0 && running.length < maxSeqs) {
      const request = waiting[waitingHead] as number
      const total = known[request] as number
      const hit = pool.cached(request, Math.floor((total - 1) / blockSize))
      const start = hit * blockSize
      const tokens = Math.min(total - start, budget)
      const wanted = blocksFor(settings.reserveFullPrompt ? total : start + tokens)
      // Cached blocks that nobody holds lie in the free list too.
      if (wanted - hit + pool.idle(request, hit) > pool.free) break
      pool.claim(request, hit)
      fits(request, start + tokens)
      waitingHead++
      running.push(request)
      computed[request] = start
      if (Number.isNaN(table.scheduledMs[request])) table.scheduledMs[request] = nowMs
      take(batch, request, tokens)
      budget -= tokens
    }
    if (waitingHead > 1024 && waitingHead * 2 > waiting.length) {
      waiting = waiting.slice(waitingHead)
      waitingHead = 0
    }
  }

  function leave(request: number): void {
    const at = running.indexOf(request)
    if (at >= 0) {
      running.splice(at, 1)
      release(request)
    } else {
      // Preempted while its last token was under way.
      const queued = waiting.indexOf(request, waitingHead)
      if (queued >= 0) waiting.splice(queued, 1)
    }
  }

  return {
    get running() {
      return running.length
    },
    get waiting() {
      return waiting.length - waitingHead
    },
    get preemptions() {
      return preemptions
    },
    enqueue(request) {
      waiting.push(request)
    },
    schedule(batch, nowMs) {
      clearBatch(batch)
      const { budget, preempted } = scheduleRunning(batch)
      if (!preempted) scheduleWaiting(batch, budget, nowMs)
    },
    collect(batch, nowMs) {
      let left = 0
      for (let i = 0; i < batch.producerCount; i++) {
        const request = batch.producers[i] as number
        known[request] = (known[request] as number) + 1
        pending[request] = (pending[request] as number) - 1
        const produced = (known[request] as number) - (promptTokens[request] as number)
        if (produced === 1) table.firstTokenMs[request] = nowMs
        if (produced >= (outputTokens[request] as number)) {
          table.lastTokenMs[request] = nowMs
          leave(request)
          left++
        }
      }
      return left
    },
  }
}
