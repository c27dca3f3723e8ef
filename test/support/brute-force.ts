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
  state: 'waiting' | 'pinned' | 'prefill' | 'decode' | 'handed over' | 'downstream'
  arrivalMs: number
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
  capCounts: 'prefill' | 'shared-stage' | 'in-flight'
  /** @default 'exempt' */
  capProtected?: 'exempt' | 'until-overdue' | 'limited'
  sheds?: boolean
  workConserving: boolean
  /** null: no triage. */
  shareFloor: number | null
  /** Slots of the engine and how many lost requests leave free; the floor then counts slot time, 200 steps a request. */
  slots?: number
  reserve?: number
  order: 'arrival' | 'deadline' | 'class' | 'aged class'
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
  shed: Set<number>
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
    arrivalMs: number,
  ): void {
    this.requests.push({
      handle,
      seq: this.seq++,
      classIndex,
      isLong,
      deadlineMs,
      workMs: bucketMs[bucketOf(workMs)]!,
      state: 'waiting',
      arrivalMs,
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
    let waiting = this.requests.filter((r) => r.state === 'waiting')
    const isOver = (r: BruteRequest): boolean => o.capProtected === 'until-overdue' && r.isLong
    const isLost = (r: BruteRequest): boolean =>
      (o.uLost > 0 && r.deadlineMs - nowMs < o.uLost * estimate(r)) ||
      (o.uLost === 0 && isOver(r) && r.deadlineMs < nowMs)
    const isProtected = (r: BruteRequest): boolean =>
      !isLost(r) && o.uGuard > 0 && r.deadlineMs - nowMs < o.uGuard * estimate(r)
    const shed = o.sheds === true ? waiting.filter(isLost).map((r) => r.handle) : []
    for (const handle of shed) this.remove(handle)
    waiting = waiting.filter((r) => !shed.includes(r.handle))
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

    const holds = {
      prefill: ['prefill'],
      'shared-stage': ['prefill', 'decode', 'handed over'],
      'in-flight': ['prefill', 'decode', 'handed over', 'downstream'],
    }[o.capCounts]
    const countsAll = o.capCounts === 'in-flight' || o.capProtected === 'limited'
    const held = this.requests.filter(
      (r) => r.isLong && (countsAll || r.admittedOrdinary) && holds.includes(r.state),
    ).length
    const isOver0 = o.capProtected === 'until-overdue' && o.uLost === 0
    const room = Math.max(0, o.cap - held)
    const byDeadline = (a: BruteRequest, b: BruteRequest): number =>
      a.deadlineMs - b.deadlineMs || a.seq - b.seq
    /** What is limited before the ordinary ones. */
    const first = o.capProtected === 'limited' ? long(urgent) : isOver0 ? long(lost) : []
    const firstOpen = first.sort(byDeadline).slice(0, room)
    const capped = long(open)
      .sort(byDeadline)
      .slice(0, Math.max(0, room - first.length))
    let shown: BruteRequest[] = []
    if (phase !== 'long') shown.push(...short(open))
    if (phase !== 'short') shown.push(...capped)
    let passed = false
    if (o.workConserving && phase !== 'none' && shown.length === 0) {
      passed = true
      shown = phase === 'short' ? [...capped] : short(open)
    }
    shown.push(...(o.capProtected === 'limited' ? [...short(urgent), ...firstOpen] : urgent))
    // Overdue ones are no longer protected: the rotation hides them, and the cap limits them.
    if (isOver0 && phase !== 'short') shown.push(...firstOpen)

    const inFlight = this.requests.filter(
      (r) => r.isLong && r.state !== 'waiting' && r.state !== 'pinned',
    ).length
    let rescued: BruteRequest[] = []
    let demoted: BruteRequest[] = []
    if (o.shareFloor !== null) {
      const slots = o.slots ?? Number.POSITIVE_INFINITY
      const inSlots = this.requests.filter((r) =>
        ['prefill', 'decode', 'handed over'].includes(r.state),
      )
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
    const running = this.requests.some((r) => r.state !== 'waiting' && r.state !== 'pinned')
    if (
      o.workConserving &&
      !running &&
      pinned.length + shown.length + demoted.length + rescued.length === 0
    )
      shown = [...waiting]
    shown.sort((a, b) => {
      if (o.order === 'deadline') return byDeadline(a, b)
      if (o.order === 'aged class')
        return (
          a.classIndex * 100 + 0.5 * a.arrivalMs - (b.classIndex * 100 + 0.5 * b.arrivalMs) ||
          a.seq - b.seq
        )
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
      shed: new Set(shed),
    }
  }
}
