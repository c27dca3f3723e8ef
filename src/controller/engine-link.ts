/**
 * @module
 * One engine, steered: its events go to the mirror, the core decides, the state is published. Runs on the main thread in published
 * mode and inside the doorbell worker in lockstep; it never waits.
 */
import { createEvent } from '../adapters/events.js'
import { KIND, MODE, STALE_MS } from '../adapters/layout.js'
import { createRingReader, type RingReader } from '../adapters/ring.js'
import type { Segment, StageLine } from '../adapters/segment.js'
import type { Scheduler } from '../core/index.js'
import { type BoundaryQuestion, QUESTION_BYTES, readBell, readQuestion } from './boundary.js'
import { createMirror, type EngineMirror, type OnFirstResponse } from './mirror.js'
import { monotonicNs } from './monotonic-clock.js'
import type { PublishedRules } from './published-rules.js'
import { createPublisher, type PublishedLevel, type Publisher } from './publisher.js'

export interface EngineLinkOptions {
  readonly segment: Segment
  readonly scheduler: Scheduler
  readonly rules: PublishedRules | undefined
  /** JSON text of the class descriptions. */
  readonly descriptions: string
  readonly mode: 'published' | 'lockstep'
  /** Most waiting requests named in an answer. @default 256 */
  readonly answerLimit?: number
  readonly onFirstResponse?: OnFirstResponse
  /** Called with each step of stage 0: how long the engine spent at the boundary, ns. */
  readonly onStep?: (boundaryNs: number) => void
}

/** What a link has done since it attached. */
export interface LinkCounts {
  published: number
  answered: number
  /** Questions whose checksum was wrong. */
  garbled: number
  corruptEvents: number
  droppedEvents: number
}

/** One engine under control. */
export interface EngineLink {
  readonly counts: LinkCounts
  readonly mirror: EngineMirror
  readonly scheduler: Scheduler
  /** Reads events, publishes, beats. Call every 1 to 5 ms. */
  tick(nowNs: bigint): void
  /** Answers the engine's question, if there is a new one. The caller wakes the engine when this returns true. */
  answer(nowNs: bigint): boolean
  /** Other classes or another policy: the engine tells everything again. */
  replace(scheduler: Scheduler, rules: PublishedRules | undefined, descriptions: string): void
  stages(): StageLine[]
  stop(): void
}

/** An engine asks to be told of lost events at most this often. */
const RESYNC_AFTER_MS = 1000

export function createEngineLink(options: EngineLinkOptions): EngineLink {
  const { segment } = options
  const { buffer, header } = segment
  const u32 = new Uint32Array(buffer)
  const shared = new Uint8Array(buffer)
  const copy = new DataView(new ArrayBuffer(QUESTION_BYTES))
  const event = createEvent()
  const question: BoundaryQuestion = { nowNs: 0n, step: 0, running: 0, waiting: 0, cursor: 0 }
  const rings: RingReader[] = []
  for (let s = 0; s < header.numStages; s++) {
    rings.push(createRingReader(buffer, s, header.ringSlots, event, true))
  }
  const counts: LinkCounts = {
    published: 0,
    answered: 0,
    garbled: 0,
    corruptEvents: 0,
    droppedEvents: 0,
  }
  const level: PublishedLevel = { level: -1, capSms: 0, headroomSms: 0 }
  const slots = new Uint32Array(options.answerLimit ?? 256)
  let scheduler = options.scheduler
  let rules = options.rules
  let mirror = createMirror(scheduler, options.onFirstResponse, lastStage, clockMs)
  let lastBell = readBell(u32)
  let dropped = 0
  let resyncAt = 0n
  let now = monotonicNs()

  const publisher: Publisher = createPublisher(segment, () => scheduler, level, isDownstreamActive)
  publisher.setRules(rules, options.descriptions)
  segment.acknowledge(lastBell)

  function clockMs(): number {
    return Number(now) / 1e6
  }

  /** The last stage that a process has taken: where the answers of long-path requests leave. */
  function lastStage(): number {
    for (let s = header.numStages - 1; s > 0; s--) if (segment.stage(s).claimed) return s
    return 0
  }

  /** A later stage is active while it runs or holds work and has said so lately. */
  function isDownstreamActive(): boolean {
    for (let s = 1; s < header.numStages; s++) {
      const line = segment.stage(s)
      if (!line.claimed || line.running + line.waiting === 0) continue
      if (now - line.heartbeatNs < BigInt(STALE_MS) * 1_000_000n) return true
    }
    return false
  }

  const decide = (nowNs: bigint): void => {
    const nowMs = mirror.advance(Number(nowNs) / 1e6)
    const decision = scheduler.step(
      nowMs,
      undefined,
      lastStage() > 0 ? isDownstreamActive() : undefined,
    )
    level.level = decision.level
    level.capSms = decision.capSms
    level.headroomSms = decision.headroomSms
  }

  const onEvent = (): void => {
    mirror.apply(event)
    if (event.kind !== KIND.step || event.stage !== 0) return
    options.onStep?.(event.e)
    if (options.mode === 'published') decide(event.timeNs)
  }

  const drain = (): void => {
    for (const ring of rings) ring.poll(onEvent)
    let lost = 0
    let corrupt = 0
    for (let s = 0; s < rings.length; s++) {
      lost += segment.stage(s).dropped
      corrupt += rings[s]!.counts.corrupt + rings[s]!.counts.jumps
    }
    // What was dropped or garbled is told again, at leisure: only the mirror's accuracy depends on it.
    if ((lost !== dropped || corrupt !== counts.corruptEvents) && now >= resyncAt) {
      if (dropped !== 0 || counts.corruptEvents !== corrupt || lost !== 0) segment.requestResync()
      resyncAt = now + BigInt(RESYNC_AFTER_MS) * 1_000_000n
      dropped = lost
    }
    counts.droppedEvents = lost
    counts.corruptEvents = corrupt
  }

  return {
    counts,
    get mirror() {
      return mirror
    },
    get scheduler() {
      return scheduler
    },
    tick(nowNs) {
      now = nowNs
      drain()
      if (publisher.update(nowNs)) counts.published += 1
      segment.beat(nowNs)
    },
    answer(nowNs) {
      const bell = readBell(u32)
      if (bell === lastBell) return false
      lastBell = bell
      now = nowNs
      drain()
      if (!readQuestion(shared, copy, question)) {
        counts.garbled += 1
        segment.acknowledge(bell)
        return true
      }
      decide(question.nowNs)
      if (publisher.update(nowNs)) counts.published += 1
      let numSlots = 0
      const { view } = scheduler.decision
      while (numSlots < slots.length) {
        const handle = view.take()
        if (handle === 0) break
        const slot = mirror.slotOf(handle)
        if (slot !== 0) slots[numSlots++] = slot
      }
      segment.answer(bell, question.step, level.level, 0, slots, numSlots)
      counts.answered += 1
      return true
    },
    replace(nextScheduler, nextRules, descriptions) {
      scheduler = nextScheduler
      rules = nextRules
      mirror = createMirror(scheduler, options.onFirstResponse, lastStage, clockMs)
      publisher.setRules(rules, descriptions)
      segment.requestResync()
    },
    stages() {
      return Array.from({ length: header.numStages }, (_, s) => segment.stage(s))
    },
    stop() {
      segment.setMode(MODE.none, 0)
    },
  }
}
