/**
 * @module
 * One step of a vLLM v1 scheduler (0.19, first come first served): running requests first, one token or the next chunk each, then waiting
 * ones while the token budget, the batch and the blocks allow. When a running request finds no block, the request admitted last gives
 * up all of its blocks and waits at the head of the queue to be computed again. There is no watermark in this version.
 */
import { addToBatch, type Batch, clearBatch } from './batch.js'
import { createDecodeCohort } from './decode-cohort.js'
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
  /** Takes the tokens of a finished step; finished requests leave. Batches come back in the order they were scheduled. */
  collect(batch: Batch, nowMs: number): void
}

export interface SchedulerOptions {
  /** Advance requests that only decode together (the default), or look at each in every step: the results are the same. */
  readonly cohort?: boolean
}

export function createScheduler(
  table: RequestTable,
  pool: KvPool,
  settings: EngineSettings,
  { cohort: together = true }: SchedulerOptions = {},
): EngineScheduler {
  const { maxSeqs, maxBatchedTokens, blockSize, maxModelLen } = settings
  const { computed, known, pending, promptTokens, outputTokens } = table
  const cohort = createDecodeCohort(table, blockSize)
  /** All running requests in the order they were admitted. */
  const running: number[] = []
  /** Those of them that are looked at one by one, in the same order: prompts under way, and all after a preemption. */
  let loose: number[] = []
  /** Batches with a tick of the cohort whose tokens have not come back. */
  const ticking: Batch[] = []
  // Waiting requests in order; the head is at `waitingHead`, and preempted ones go in front of it.
  let waiting: number[] = []
  let waitingHead = 0
  let preemptions = 0
  /** Tokens that the blocks a request holds have room for: most steps need no new block, and need not ask. */
  const room = new Int32Array(table.count)

  const blocksFor = (tokens: number): number => Math.ceil(tokens / blockSize)

  /** Tokens of the reply that are neither known nor under way. */
  const left = (request: number): number =>
    (promptTokens[request] as number) +
    (outputTokens[request] as number) -
    (known[request] as number) -
    (pending[request] as number)

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

  /** Moves requests that only decode into the cohort, and drops those whose last token is under way. */
  function gather(): void {
    let kept = 0
    for (let i = 0; i < loose.length; i++) {
      const request = loose[i] as number
      const more = left(request)
      if (more <= 0 && (pending[request] as number) > 0) continue
      const tokens =
        (known[request] as number) + (pending[request] as number) - (computed[request] as number)
      const whole = (promptTokens[request] as number) + (outputTokens[request] as number)
      const decodes =
        tokens === 1 && (computed[request] as number) >= (promptTokens[request] as number)
      // The order of blocks is the order of admission: nobody may overtake a prompt under way.
      if (together && decodes && kept === 0 && whole < maxModelLen)
        cohort.join(request, more, room[request] as number)
      else loose[kept++] = request
    }
    loose.length = kept
  }

  /** One token for each member of the cohort, if the blocks suffice for all who need one. */
  function tickCohort(batch: Batch): boolean {
    if (cohort.size === 0) return true
    const crossing = cohort.crossing()
    if (crossing.length > pool.free || cohort.size > maxBatchedTokens) return false
    for (let i = 0; i < crossing.length; i++) {
      const request = crossing[i] as number
      const blocks = (room[request] as number) / blockSize + 1
      pool.grow(request, blocks)
      room[request] = blocks * blockSize
    }
    batch.tick = cohort.tick
    batch.tokens = cohort.size
    batch.sequences = cohort.size
    batch.decodes = cohort.size
    batch.contextSum = cohort.contextSum
    batch.contextMax = cohort.contextMax
    batch.contextMin = cohort.contextMin
    cohort.advance()
    ticking.push(batch)
    return true
  }

  /** Back to looking at each request: what the cohort has under way goes into the producers of its batches. */
  function scatter(): void {
    for (const batch of ticking) {
      const others = batch.producers.slice(0, batch.producerCount)
      batch.producerCount = 0
      for (const request of running)
        if (cohort.ranIn(request, batch.tick)) batch.producers[batch.producerCount++] = request
      batch.producers.set(others, batch.producerCount)
      batch.producerCount += others.length
      batch.tick = -1
    }
    ticking.length = 0
    cohort.dissolve()
    loose = running.slice()
  }

  /** Schedules the loose ones in order; true if somebody had to give up blocks. */
  function scheduleLoose(batch: Batch): boolean {
    let preempted = false
    for (let i = 0; i < loose.length && batch.tokens < maxBatchedTokens; i++) {
      const request = loose[i] as number
      if ((pending[request] as number) > 0 && left(request) <= 0) continue
      const have = computed[request] as number
      const tokens = Math.min(
        (known[request] as number) + (pending[request] as number) - have,
        maxBatchedTokens - batch.tokens,
        maxModelLen - 1 - have,
      )
      if (tokens <= 0) continue
      while (!fits(request, have + tokens)) {
        if (!preempted) {
          // Anyone may be the victim now, so everyone must be in the open.
          const at = request
          scatter()
          i = loose.indexOf(at)
        }
        preempted = true
        const victim = preemptLast()
        loose.pop()
        if (victim === request) return true
      }
      take(batch, request, tokens)
    }
    return preempted
  }

  function scheduleWaiting(batch: Batch, nowMs: number): void {
    while (
      waitingHead < waiting.length &&
      batch.tokens < maxBatchedTokens &&
      running.length < maxSeqs
    ) {
      const request = waiting[waitingHead] as number
      const total = known[request] as number
      const hit = pool.cached(request, Math.floor((total - 1) / blockSize))
      const start = hit * blockSize
      const tokens = Math.min(total - start, maxBatchedTokens - batch.tokens)
      const wanted = blocksFor(settings.reserveFullPrompt ? total : start + tokens)
      // Cached blocks that nobody holds lie in the free list too.
      if (wanted - hit + pool.idle(request, hit) > pool.free) break
      pool.claim(request, hit)
      fits(request, start + tokens)
      waitingHead++
      running.push(request)
      loose.push(request)
      computed[request] = start
      if (Number.isNaN(table.scheduledMs[request])) table.scheduledMs[request] = nowMs
      take(batch, request, tokens)
    }
    if (waitingHead > 1024 && waitingHead * 2 > waiting.length) {
      waiting = waiting.slice(waitingHead)
      waitingHead = 0
    }
  }

  function leave(request: number, nowMs: number): void {
    table.lastTokenMs[request] = nowMs
    const at = running.indexOf(request)
    if (at >= 0) {
      running.splice(at, 1)
      const among = loose.indexOf(request)
      if (among >= 0) loose.splice(among, 1)
      release(request)
      return
    }
    // Preempted while its last token was under way.
    const queued = waiting.indexOf(request, waitingHead)
    if (queued >= 0) waiting.splice(queued, 1)
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
      gather()
      if (!tickCohort(batch)) scatter()
      if (!scheduleLoose(batch)) scheduleWaiting(batch, nowMs)
    },
    collect(batch, nowMs) {
      if (batch.tick >= 0) {
        ticking.splice(ticking.indexOf(batch), 1)
        for (const request of cohort.collect(batch.tick)) leave(request, nowMs)
      }
      for (let i = 0; i < batch.producerCount; i++) {
        const request = batch.producers[i] as number
        known[request] = (known[request] as number) + 1
        pending[request] = (pending[request] as number) - 1
        const produced = (known[request] as number) - (promptTokens[request] as number)
        if (produced === 1) table.firstTokenMs[request] = nowMs
        if (produced >= (outputTokens[request] as number)) leave(request, nowMs)
      }
    },
  }
}
