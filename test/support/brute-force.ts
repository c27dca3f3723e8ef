/**
 * The scheduling step written the obvious way: an array of requests, looked at one by one in each step. It follows ARCHITECTURE.md
 * items 2 to 8 and the quantised estimates of the scheduler under test, and shares none of its code but the bucket edges.
 */
import { bucketMs, bucketOf } from '../../src/core/bucket.js'

export interface BruteRequest {
  handle: number
  seq: number
  classIndex: number
  isLong: boolean
  deadlineMs: number
  workMs: number
  state: 'waiting' | 'pinned' | 'prefill' | 'decode' | 'downstream'
  admittedOrdinary: boolean
  pinnedAt: number
}

export interface BruteOptions {
  uGuard: number
  uLost: number
  downstreamWait: boolean
  m: number
  nMin: number
  nMax: number
  update: 'cycle' | 'step' | 'none'
  cap: number
  capCounts: 'prefill' | 'shared-stage'
  workConserving: boolean
  /** null: no triage. */
  shareFloor: number | null
  /** Slots of the engine and how many lost requests leave free; the floor then counts slot time, 200 steps a request. */
  slots?: number
  reserve?: number
  order: 'arrival' | 'deadline' | 'class'
  /** Whether a filter hides the ordinary requests of a class in a step. */
  hides?: (step: number, classIndex: number) => boolean
}

export interface BruteStep {
  view: number[]
  visible: Set<number>
  phase: 'short' | 'long' | 'none'
  n: number
  passed: boolean
  protected: Set<number>
  lost: Set<number>
}

export class BruteForce {
  readonly requests: BruteRequest[] = []
  private readonly options: BruteOptions
  private k = 0
  private position = 0
  private n: number
  private seq = 0
  private pins = 0
  private credit = 0

  constructor(options: BruteOptions) {
    this.options = options
    this.n = options.nMin
  }

  arrive(
    handle: number,
    classIndex: number,
    isLong: boolean,
    deadlineMs: number,
    workMs: number,
  ): void {
    this.requests.push({
      handle,
      seq: this.seq++,
      classIndex,
      isLong,
      deadlineMs,
      workMs: bucketMs[bucketOf(workMs)]!,
      state: 'waiting',
      admittedOrdinary: false,
      pinnedAt: -1,
    })
  }

  find(handle: number): BruteRequest {
    return this.requests.find((r) => r.handle === handle)!
  }

  admit(handle: number, wasOrdinary: boolean): void {
    const request = this.find(handle)
    if (request.state === 'waiting') request.admittedOrdinary = wasOrdinary
    request.state = 'prefill'
  }

  pin(handle: number): void {
    const request = this.find(handle)
    request.state = 'pinned'
    request.pinnedAt = this.pins++
  }

  remove(handle: number): void {
    this.requests.splice(this.requests.indexOf(this.find(handle)), 1)
  }

  step(nowMs: number, slowdown: ArrayLike<number>, waitMs: ArrayLike<number>): BruteStep {
    const o = this.options
    const estimate = (r: BruteRequest): number =>
      slowdown[r.classIndex]! * r.workMs + (o.downstreamWait ? waitMs[r.classIndex]! : 0)
    const waiting = this.requests.filter((r) => r.state === 'waiting')
    const isLost = (r: BruteRequest): boolean =>
      o.uLost > 0 && r.deadlineMs - nowMs < o.uLost * estimate(r)
    const isProtected = (r: BruteRequest): boolean =>
      !isLost(r) && o.uGuard > 0 && r.deadlineMs - nowMs < o.uGuard * estimate(r)
    const lost = waiting.filter(isLost)
    const urgent = waiting.filter(isProtected)
    const ordinary = waiting.filter((r) => !isLost(r) && !isProtected(r))
    const short = (list: BruteRequest[]): BruteRequest[] => list.filter((r) => !r.isLong)
    const long = (list: BruteRequest[]): BruteRequest[] => list.filter((r) => r.isLong)

    let phase: 'short' | 'long' | 'none' = 'none'
    if (o.update !== 'none') {
      if (o.update === 'step' || this.position === 0) {
        const u = short(urgent).length
        const all = u + short(ordinary).length
        this.n = all === 0 ? o.nMin : Math.floor(o.nMin + (u / all) * (o.nMax - o.nMin) + 0.5)
      }
      const at = o.update === 'step' ? this.k % (this.n + o.m) : this.position
      this.position = this.position + 1 >= this.n + o.m ? 0 : this.position + 1
      phase = at < this.n ? 'short' : 'long'
    }
    const step = this.k++
    const open = ordinary.filter((r) => !o.hides?.(step, r.classIndex))

    const held = this.requests.filter(
      (r) =>
        r.isLong &&
        r.admittedOrdinary &&
        (r.state === 'prefill' || (o.capCounts === 'shared-stage' && r.state === 'decode')),
    ).length
    const room = Math.max(0, o.cap - held)
    const byDeadline = (a: BruteRequest, b: BruteRequest): number =>
      a.deadlineMs - b.deadlineMs || a.seq - b.seq
    const capped = long(open).sort(byDeadline).slice(0, room)
    let shown: BruteRequest[] = []
    if (phase !== 'long') shown.push(...short(open))
    if (phase !== 'short') shown.push(...capped)
    let passed = false
    if (o.workConserving && phase !== 'none' && shown.length === 0) {
      passed = true
      shown = phase === 'short' ? [...capped] : short(open)
    }
    shown.push(...urgent)

    const inFlight = this.requests.filter(
      (r) =>
        r.isLong && (r.state === 'prefill' || r.state === 'decode' || r.state === 'downstream'),
    ).length
    let rescued: BruteRequest[] = []
    let demoted: BruteRequest[] = []
    if (o.shareFloor !== null) {
      const slots = o.slots ?? Number.POSITIVE_INFINITY
      const inSlots = this.requests.filter((r) => r.state === 'prefill' || r.state === 'decode')
      const free = Math.max(0, slots - inSlots.length - (o.reserve ?? 0))
      demoted = [
        ...short(lost).sort(byDeadline).slice(0, free),
        ...(inFlight === 0 ? long(lost).sort(byDeadline).slice(0, Math.min(1, free)) : []),
      ].sort(byDeadline)
      if (lost.length > 0) {
        this.credit += o.slots === undefined ? o.shareFloor : (o.shareFloor * o.slots) / 200
        const due = o.slots === undefined ? 1 - 1e-9 : 1
        if (this.credit >= due && inSlots.length < slots) {
          this.credit -= 1
          rescued = [...lost].sort(byDeadline).slice(0, 1)
        }
      }
    }
    const pinned = this.requests
      .filter((r) => r.state === 'pinned')
      .sort((a, b) => b.pinnedAt - a.pinnedAt)
    const running = this.requests.some(
      (r) => r.state === 'prefill' || r.state === 'decode' || r.state === 'downstream',
    )
    if (
      o.workConserving &&
      !running &&
      pinned.length + shown.length + demoted.length + rescued.length === 0
    )
      shown = [...waiting]
    shown.sort((a, b) => {
      if (o.order === 'deadline') return byDeadline(a, b)
      if (o.order === 'class') return a.classIndex - b.classIndex || a.seq - b.seq
      return a.seq - b.seq
    })
    const view: BruteRequest[] = []
    for (const r of [...pinned, ...rescued, ...shown, ...demoted])
      if (!view.includes(r)) view.push(r)
    return {
      view: view.map((r) => r.handle),
      visible: new Set(view.map((r) => r.handle)),
      phase,
      n: o.update === 'none' ? 0 : this.n,
      passed,
      protected: new Set(urgent.map((r) => r.handle)),
      lost: new Set(lost.map((r) => r.handle)),
    }
  }
}
