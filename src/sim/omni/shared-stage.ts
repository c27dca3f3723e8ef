/**
 * @module
 * The shared stage: an engine with slots, a token budget per step, chunked prefill, continuous batching and a KV cache counted in
 * tokens. Which waiting request comes next is not its business: it reads the scheduler's view and takes what fits, as an engine does.
 * When the cache is full the request admitted last loses its slot and is computed anew (vLLM's recompute preemption).
 */
import type { GpuWork } from './co-running.js'
import type { RequestPlan } from './request-plan.js'
import type { RuntimeScheduler } from './runtime-scheduler.js'
import type { OmniSpec } from './spec.js'
import { type SharedBatch, sharedWork } from './stage-work.js'

export interface SharedStage {
  /** Requests holding a slot. */
  readonly numRunning: number
  /** Those of them that are decoded and wait for the next stage. */
  readonly numHeld: number
  /** Tokens that the requests of the batch composed last have decoded before. */
  readonly decodedTokens: number
  readonly kvTokens: number
  readonly preemptions: number
  /** Whether the batch composed last prefills anything. */
  readonly prefills: boolean
  /** Whether the request could ever run: its tokens fit the cache. */
  accepts(request: number): boolean
  /** Composes the next batch and writes what it asks of the GPU. False when there is nothing to run. */
  compose(work: GpuWork): boolean
  /** Books the tokens of the batch composed last; calls back per request that reached its first token or its end. */
  complete(nowMs: number): void
  /** Frees the slot and the cache of a request that was held. */
  release(request: number): void
  /** Drops the request wherever it is, without a callback: its row may then be used for another request. */
  forget(request: number): void
}

export interface SharedStageEvents {
  /** It took a slot, for the first time or again. */
  admitted(request: number): void
  firstToken(request: number, nowMs: number): void
  /** Whether a request whose tokens are all decoded keeps slot and cache until `release`. @default () => false */
  holds?(request: number): boolean
  /** All of its tokens are decoded; its slot and cache are free, unless it holds them. */
  decoded(request: number, nowMs: number): void
}

export function createSharedStage(
  spec: OmniSpec,
  plan: RequestPlan,
  scheduler: RuntimeScheduler,
  events: SharedStageEvents,
): SharedStage {
  const { slots, tokenBudget } = spec.shared
  const capacity = spec.kvCapacityTokens
  const size = plan.prefillTokens.length
  const prefillDone = new Int32Array(size)
  const decodeDone = new Int32Array(size)
  /** Tokens to compute before decoding goes on: the prompt, and after a preemption what had been decoded. */
  const prefillTarget = Int32Array.from(plan.prefillTokens)
  /** Tokens held in the cache. */
  const cached = new Int32Array(size)
  const encoded = new Uint8Array(size)
  const held = new Uint8Array(size)
  let numHeld = 0
  let decodedTokens = 0
  // In order of admission; the last one is the first to lose its slot.
  const running = new Int32Array(slots)
  let numRunning = 0
  let kvTokens = 0
  let preemptions = 0
  const stepRequests = new Int32Array(slots)
  const stepTokens = new Int32Array(slots)
  let numStep = 0
  const batch: SharedBatch = {
    prefillTokens: 0,
    attendedPairs: 0,
    decodeRequests: 0,
    kvTokens: 0,
    encodeTflop: 0,
  }

  function removeAt(place: number): void {
    running.copyWithin(place, place + 1, numRunning)
    numRunning--
  }

  /** Frees room for `tokens` more of the request at `place`; false when it lost its own slot. */
  function makeRoom(tokens: number, place: number): boolean {
    while (kvTokens + tokens > capacity) {
      let last = numRunning - 1
      while (last > place && held[running[last] as number] === 1) last--
      const victim = running[last] as number
      kvTokens -= cached[victim] as number
      cached[victim] = 0
      prefillDone[victim] = 0
      prefillTarget[victim] =
        (plan.prefillTokens[victim] as number) + (decodeDone[victim] as number)
      scheduler.preempt(victim)
      preemptions++
      removeAt(last)
      if (last === place) return false
    }
    return true
  }

  /** Puts the next chunk of a prefill into the batch; returns its tokens. */
  function addPrefill(request: number, budget: number): number {
    const done = prefillDone[request] as number
    const chunk = Math.min(budget, (prefillTarget[request] as number) - done)
    stepRequests[numStep] = request
    stepTokens[numStep++] = chunk
    batch.prefillTokens += chunk
    batch.attendedPairs += chunk * (done + chunk / 2)
    if (encoded[request] === 0) {
      encoded[request] = 1
      batch.encodeTflop += plan.encodeTflop[request] as number
    }
    cached[request] = (cached[request] as number) + chunk
    kvTokens += chunk
    return chunk
  }

  function addDecode(request: number): number {
    stepRequests[numStep] = request
    stepTokens[numStep++] = 0
    batch.decodeRequests++
    batch.kvTokens += cached[request] as number
    cached[request] = (cached[request] as number) + 1
    kvTokens++
    return 1
  }

  function compose(work: GpuWork): boolean {
    numStep = 0
    batch.prefillTokens = 0
    batch.attendedPairs = 0
    batch.decodeRequests = 0
    batch.kvTokens = 0
    batch.encodeTflop = 0
    decodedTokens = 0
    let budget = tokenBudget
    const preemptedBefore = preemptions
    // Running requests first, in order of admission, as vLLM does: a decode takes one token, a prefill what is left.
    for (let place = 0; place < numRunning && budget > 0; place++) {
      const request = running[place] as number
      if (held[request] === 1) continue
      decodedTokens += decodeDone[request] as number
      const left = (prefillTarget[request] as number) - (prefillDone[request] as number)
      if (!makeRoom(Math.min(budget, Math.max(1, left)), place)) break
      budget -= left > 0 ? addPrefill(request, budget) : addDecode(request)
    }
    // After a preemption nothing new comes in, or the victim's room would go to somebody else.
    while (preemptions === preemptedBefore && numRunning < slots && budget > 0) {
      const request = scheduler.next()
      if (request < 0 || kvTokens + (prefillTarget[request] as number) > capacity) break
      scheduler.admit(request)
      events.admitted(request)
      running[numRunning++] = request
      budget -= addPrefill(request, budget)
    }
    if (numStep === 0) return false
    sharedWork(spec, batch, work)
    return true
  }

  function complete(nowMs: number): void {
    for (let i = 0; i < numStep; i++) {
      const request = stepRequests[i] as number
      if (request < 0) continue
      const chunk = stepTokens[i] as number
      const wasDecoded = decodeDone[request] as number
      if (chunk > 0) prefillDone[request] = (prefillDone[request] as number) + chunk
      const prefilled = (prefillDone[request] as number) >= (prefillTarget[request] as number)
      if (prefilled) decodeDone[request] = wasDecoded + 1
      scheduler.progress(
        request,
        Math.min(prefillDone[request] as number, plan.prefillTokens[request] as number),
        decodeDone[request] as number,
      )
      if (!prefilled) continue
      // The token that a prefill step yields is written to the cache by the decode after it.
      if (wasDecoded === 0) events.firstToken(request, nowMs)
      if ((decodeDone[request] as number) < (plan.decodeTokens[request] as number)) continue
      held[request] = 1
      numHeld++
      // Out of its slot before anybody hears of it, unless it stays.
      if (events.holds?.(request) !== true) release(request)
      events.decoded(request, nowMs)
    }
  }

  function release(request: number): void {
    held[request] = 0
    numHeld--
    removeAt(running.subarray(0, numRunning).indexOf(request))
    kvTokens -= cached[request] as number
    cached[request] = 0
  }

  function forget(request: number): void {
    const place = running.subarray(0, numRunning).indexOf(request)
    if (place !== -1) removeAt(place)
    const inStep = stepRequests.subarray(0, numStep).indexOf(request)
    if (inStep !== -1) stepRequests[inStep] = -1
    kvTokens -= cached[request] as number
    cached[request] = 0
    prefillDone[request] = 0
    decodeDone[request] = 0
    encoded[request] = 0
    if (held[request] === 1) numHeld--
    held[request] = 0
    prefillTarget[request] = plan.prefillTokens[request] as number
  }

  return {
    get numRunning() {
      return numRunning
    },
    get kvTokens() {
      return kvTokens
    },
    get preemptions() {
      return preemptions
    },
    get prefills() {
      return batch.prefillTokens > 0
    },
    accepts: (request) =>
      (plan.prefillTokens[request] as number) + (plan.decodeTokens[request] as number) <= capacity,
    get numHeld() {
      return numHeld
    },
    get decodedTokens() {
      return decodedTokens
    },
    compose,
    complete,
    release,
    forget,
  }
}
