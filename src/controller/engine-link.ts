/**
 * @module
 * One engine, steered: its events go to the mirror, the core decides, the state is published. Runs on the main thread in published
 * mode and inside the doorbell worker in lockstep; it never waits.
 */
import { createEvent, type EngineEvent } from '../adapters/events.js'
import { KIND, MODE, STALE_MS } from '../adapters/layout.js'
import { createRingReader, type RingReader } from '../adapters/ring.js'
import { CONTROL_STATE, type Segment, type StageLine } from '../adapters/segment.js'
import { LONG, type Scheduler } from '../core/index.js'
import { NO_LADDER } from '../core/ladder.js'
import { createEndpointOutlook, type EndpointOutlook } from '../policies/index.js'
import { type BoundaryQuestion, questionReader, readAnswered, readBell } from './boundary.js'
import { createLinkHealth } from './link-health.js'
import { createMirror, type EngineMirror, type OnFirstResponse } from './mirror.js'
import { monotonicNs } from './monotonic-clock.js'
import type { PressureReader } from './pressure-cell.js'
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
  /** Whether the policy is only watched at a time, ms: computed and published, with nothing hidden. @default never */
  readonly observing?: (nowMs: number) => boolean
  /** Called with each step of stage 0: how long the engine spent at the boundary, ns. */
  readonly onStep?: (boundaryNs: number) => void
  /** Where pressure comes from, if it is measured: with a new sample the cap is decided anew even while the engine takes no step. */
  readonly pressure?: PressureReader
  /** Places of the shared stage and of the one after it, where the configuration names them. */
  readonly slots?: number | undefined
  readonly downstreamPlaces?: number | undefined
  /** The other engines of the same server: any of them may go on with a request in its later stages. @default none */
  readonly peers?: () => Iterable<EngineLink>
  /** Gets one line for each kind of trouble, at most once in ten seconds. */
  readonly onTrouble?: (text: string) => void
}

/** What a link has done since it attached. */
export interface LinkCounts {
  published: number
  answered: number
  /** Questions whose checksum was wrong. */
  garbled: number
  /** Times that somebody else had overwritten what this side owns. */
  overwritten: number
  corruptEvents: number
  droppedEvents: number
  /** Ends and answers in later stages of requests that no engine of this server is known to have sent there. */
  strangers: number
}

/** One engine under control. */
export interface EngineLink {
  readonly counts: LinkCounts
  readonly mirror: EngineMirror
  readonly scheduler: Scheduler
  readonly pressure: PressureReader | undefined
  /** What a request that arrived now would meet. */
  readonly outlook: EndpointOutlook
  /** Whether the policy is only watched now. */
  readonly isObserving: boolean
  /** As of the last tick: the last stage that a process of this engine has taken, and whether a later one of it has work. */
  readonly own: { readonly lastStage: number; readonly isActive: boolean }
  /** What a later stage of another engine tells; false when it is of no request of this one. */
  hear(event: Readonly<EngineEvent>): boolean
  /** Whether both engines run on the same devices, as far as their processes know. */
  sharesDevice(other: Segment): boolean
  readonly segment: Segment
  /** Reads events, publishes, beats. Call every 1 to 5 ms. */
  tick(nowNs: bigint): void
  /** Answers the engine's question, if there is a new one. The caller wakes the engine when this returns true. */
  answer(nowNs: bigint): boolean
  /** Other classes or another policy: the engine tells everything again. */
  replace(scheduler: Scheduler, rules: PublishedRules | undefined, descriptions: string): void
  stages(): StageLine[]
  stop(): void
}

const STALE_NS = BigInt(STALE_MS) * 1_000_000n

/** An engine asks to be told of lost events at most this often. */
const RESYNC_AFTER_MS = 1000

export function createEngineLink(options: EngineLinkOptions): EngineLink {
  const { segment } = options
  const { buffer, header } = segment
  const u32 = new Uint32Array(buffer)
  const event = createEvent()
  const question: BoundaryQuestion = { nowNs: 0n, step: 0, running: 0, waiting: 0, cursor: 0 }
  const readQuestion = questionReader(u32, question)
  const rings: RingReader[] = []
  for (let s = 0; s < header.numStages; s++) {
    rings.push(createRingReader(buffer, s, header.ringSlots, event, true))
  }
  const counts: LinkCounts = {
    published: 0,
    answered: 0,
    garbled: 0,
    overwritten: 0,
    corruptEvents: 0,
    droppedEvents: 0,
    strangers: 0,
  }
  const level: PublishedLevel = { level: -1, capSms: 0, headroomSms: 0 }
  const slots = new Uint32Array(options.answerLimit ?? 256)
  let scheduler = options.scheduler
  let rules = options.rules
  let mirror = createMirror(scheduler, options.onFirstResponse, lastStage, clockMs)
  let outlook = lookOut()
  let lastBell = readBell(u32)
  let dropped = 0
  let resyncAt = 0n
  let now = monotonicNs()
  let last = 0
  let isActive = false
  const own = { lastStage: 0, isActive: false }
  const peers = options.peers ?? (() => [])
  let pressureSeen = 0

  const publisher: Publisher = createPublisher(
    segment,
    () => scheduler,
    level,
    () => isActive,
    () => options.observing?.(clockMs()) === true,
    longElsewhere,
  )
  const health = createLinkHealth(counts, options.onTrouble ?? (() => {}), repair)
  publisher.setRules(rules, options.descriptions)
  segment.acknowledge(lastBell)

  function clockMs(): number {
    return Number(now) / 1e6
  }

  function lookOut(): EndpointOutlook {
    const { slots, downstreamPlaces } = options
    return createEndpointOutlook(scheduler, {
      ...(slots === undefined ? {} : { slots }),
      ...(downstreamPlaces === undefined ? {} : { downstreamConcurrency: downstreamPlaces }),
    })
  }

  /** The last stage that a process has taken, as of the last tick: where the answers of long-path requests leave. */
  function lastStage(): number {
    return last
  }

  /** A later stage is active while it runs or holds work and has said so lately. */
  function lookDownstream(): void {
    const sinceNs = now - STALE_NS
    own.isActive = false
    for (let s = 1; s <= own.lastStage && !own.isActive; s++)
      own.isActive = segment.isActive(s, sinceNs)
    isActive = own.isActive
    for (const peer of peers()) isActive ||= peer.own.isActive
  }

  /** The stages of all engines of the server together: any replica may be the one that goes on. */
  function lookForStages(): void {
    own.lastStage = header.numStages - 1
    while (own.lastStage > 0 && !segment.isClaimed(own.lastStage)) own.lastStage -= 1
    last = own.lastStage
    for (const peer of peers()) last = Math.max(last, peer.own.lastStage)
  }

  /** Long-path requests in the shared stages of engines on the same devices: one budget for all. */
  function longElsewhere(): number {
    let sum = 0
    for (const peer of peers()) {
      if (!peer.sharesDevice(segment)) continue
      const { signals } = peer.scheduler
      sum += signals.sumOn(LONG, signals.inShared)
    }
    return sum
  }

  /** A later stage speaks of a request that came in through another engine. */
  const pass = (): void => {
    for (const peer of peers()) if (peer.hear(event)) return
    if (event.kind === KIND.finish || event.kind === KIND.firstResponse) counts.strangers += 1
  }

  /** What this side owns, put right again; nobody else may write it, so it is looked at rarely. */
  function repair(): string[] {
    const damage = segment.repair()
    if (damage.includes(CONTROL_STATE)) publisher.update(now, true)
    if (
      options.mode === 'lockstep' &&
      readBell(u32) === lastBell &&
      readAnswered(u32) !== lastBell
    ) {
      segment.acknowledge(lastBell)
      damage.push('the answer')
    }
    if (damage.length > 0) counts.overwritten += 1
    return damage
  }

  const decide = (nowNs: bigint): void => {
    const nowMs = mirror.advance(Number(nowNs) / 1e6)
    if (last > 0) lookDownstream()
    const decision = scheduler.step(nowMs, undefined, last > 0 ? isActive : undefined)
    // A row of no ladder is no level: stages that have one must not take it for theirs.
    level.level = scheduler.ladder === NO_LADDER ? -1 : decision.level
    level.capSms = decision.capSms
    level.headroomSms = decision.headroomSms
  }

  const onEvent = (): void => {
    if (!mirror.apply(event)) pass()
    if (event.kind !== KIND.step || event.stage !== 0) return
    options.onStep?.(event.e)
    if (options.mode === 'published') decide(event.timeNs)
  }

  const drain = (): void => {
    for (const ring of rings) ring.poll(onEvent)
  }

  const countLosses = (): void => {
    let lost = 0
    let corrupt = 0
    for (let s = 0; s < rings.length; s++) {
      lost += segment.dropped(s)
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
    pressure: options.pressure,
    get isObserving() {
      return options.observing?.(clockMs()) === true
    },
    segment,
    own,
    get outlook() {
      return outlook
    },
    hear: (told) => mirror.apply(told),
    sharesDevice(other) {
      const device = segment.device()
      return device !== undefined && device === other.device()
    },
    get mirror() {
      return mirror
    },
    get scheduler() {
      return scheduler
    },
    tick(nowNs) {
      now = nowNs
      lookForStages()
      const stepsBefore = mirror.counts.steps
      drain()
      countLosses()
      lookDownstream()
      mirror.expire(clockMs(), !isActive)
      outlook.tick(clockMs())
      const samples = options.pressure?.samples() ?? 0
      if (samples !== pressureSeen) {
        pressureSeen = samples
        if (options.mode === 'published' && mirror.counts.steps === stepsBefore) decide(nowNs)
      }
      if (publisher.update(nowNs)) counts.published += 1
      // What there is to say is said before the engine follows again.
      health.look(nowNs)
      segment.beat(nowNs)
    },
    answer(nowNs) {
      const bell = readBell(u32)
      if (bell === lastBell) return false
      lastBell = bell
      now = nowNs
      drain()
      if (!readQuestion()) {
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
      outlook = lookOut()
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
