/**
 * A serving loop driven by random turns: requests arrive, a step is taken, the engine takes some from the head of the view, and then
 * running requests go on, come back, leave. Watchers look at every step and admission.
 */
import fc from 'fast-check'
import type { Decision } from '../../src/core/decision.js'
import type { Policy } from '../../src/core/ports.js'
import { LOST, PROTECTED } from '../../src/core/request-table.js'
import type { Scheduler } from '../../src/core/scheduler.js'
import type { SchedulerOptions } from '../../src/core/scheduler-options.js'
import { CLASSES, type ClassName, rowOf, testScheduler } from './fixture.js'

export interface Turn {
  readonly dtMs: number
  readonly arrivals: readonly {
    readonly c: number
    readonly tokens: number
    readonly sloMs?: number | undefined
  }[]
  /** How many the engine has room for. */
  readonly take: number
  readonly moves: readonly { readonly op: Move; readonly pick: number }[]
  readonly slowdown?: { readonly c: number; readonly factor: number } | undefined
}

export type Move = 'decode' | 'downstream' | 'respond' | 'leave' | 'cancel' | 'preempt' | 'pin'

const EVERY_MOVE: readonly Move[] = [
  'decode',
  'downstream',
  'respond',
  'leave',
  'cancel',
  'preempt',
  'pin',
]

/** Histories of `length` turns at most. */
export function histories(
  length: number,
  moves: readonly Move[] = EVERY_MOVE,
  factors: fc.Arbitrary<number> = fc.double({ min: 1, max: 12, noNaN: true }),
): fc.Arbitrary<Turn[]> {
  const turn: fc.Arbitrary<Turn> = fc.record({
    dtMs: fc.oneof(fc.nat(60), fc.double({ min: 0, max: 300, noNaN: true })),
    arrivals: fc.array(
      fc.record({
        c: fc.nat(CLASSES.length - 1),
        tokens: fc.nat(2000),
        sloMs: fc.option(fc.integer({ min: 1, max: 4000 }), { freq: 6, nil: undefined }),
      }),
      { maxLength: 4, size: 'max' },
    ),
    take: fc.nat(4),
    moves: fc.array(fc.record({ op: fc.constantFrom(...moves), pick: fc.nat(1000) }), {
      maxLength: 4,
      size: 'max',
    }),
    slowdown: fc.option(fc.record({ c: fc.nat(CLASSES.length - 1), factor: factors }), {
      freq: 5,
      nil: undefined,
    }),
  })
  return fc.array(turn, { minLength: 1, maxLength: length, size: 'max' })
}

export interface Tracked {
  readonly handle: number
  readonly c: number
  readonly isLong: boolean
  readonly seq: number
  readonly deadlineMs: number
  state: 'waiting' | 'pinned' | 'prefill' | 'decode' | 'downstream'
  admittedOrdinary: boolean
  wasPreempted: boolean
  responded: boolean
}

export interface Watcher {
  /** After the decision, before anything is taken. */
  step?(decision: Decision, loop: ServingLoop): void
  /** Before a request that the view gave is admitted. */
  admit?(request: Tracked, loop: ServingLoop): void
  /** At the end of a turn. */
  turn?(loop: ServingLoop): void
}

export class ServingLoop {
  readonly scheduler: Scheduler<ClassName>
  readonly live = new Map<number, Tracked>()
  now = 0
  arrivals = 0
  removals = 0
  taken = 0
  private readonly watcher: Watcher

  constructor(policy: Policy, watcher: Watcher, more: Partial<SchedulerOptions<ClassName>> = {}) {
    this.scheduler = testScheduler(policy, more)
    this.watcher = watcher
  }

  run(turns: readonly Turn[]): this {
    for (const turn of turns) this.turn(turn)
    return this
  }

  in(...states: readonly Tracked['state'][]): Tracked[] {
    return [...this.live.values()].filter(({ state }) => states.includes(state))
  }

  statusOf(handle: number): number {
    const { chunk, i } = rowOf(this.scheduler, handle)
    return chunk.status[i]!
  }

  isProtected(request: Tracked): boolean {
    return request.state === 'waiting' && this.statusOf(request.handle) === PROTECTED
  }

  isLost(request: Tracked): boolean {
    return request.state === 'waiting' && this.statusOf(request.handle) === LOST
  }

  arrive(c: number, promptTokens: number, sloMs?: number): number {
    const spec = CLASSES[c]!
    const own = sloMs === undefined ? {} : { sloMs }
    const handle = this.scheduler.arrive({ class: spec.name, promptTokens, ...own }, this.now)
    this.live.set(handle, {
      handle,
      c,
      isLong: spec.path === 'long',
      seq: this.arrivals++,
      deadlineMs: this.now + (sloMs ?? spec.sloMs),
      state: 'waiting',
      admittedOrdinary: false,
      wasPreempted: false,
      responded: false,
    })
    return handle
  }

  private turn(turn: Turn): void {
    const { scheduler, watcher } = this
    for (const { c, tokens, sloMs } of turn.arrivals) this.arrive(c, tokens, sloMs)
    if (turn.slowdown !== undefined)
      scheduler.setSlowdown(CLASSES[turn.slowdown.c]!.name, turn.slowdown.factor)
    this.now += turn.dtMs
    const decision = scheduler.step(this.now)
    watcher.step?.(decision, this)
    for (let k = 0; k < turn.take; k++) {
      const handle = decision.view.take()
      if (handle === 0) break
      this.taken += 1
      const request = this.live.get(handle)!
      watcher.admit?.(request, this)
      if (request.state === 'waiting') {
        request.admittedOrdinary = this.statusOf(handle) === 0
        this.removals += 1
      }
      scheduler.admit(handle)
      request.state = 'prefill'
    }
    for (const { op, pick } of turn.moves) this.move(op, pick)
    watcher.turn?.(this)
  }

  private move(op: Move, pick: number): void {
    const { scheduler } = this
    const among = (list: readonly Tracked[]): Tracked | undefined =>
      list.length === 0 ? undefined : list[pick % list.length]
    const of = (...states: readonly Tracked['state'][]): Tracked | undefined =>
      among(this.in(...states))
    if (op === 'decode') {
      const request = of('prefill')
      if (request === undefined) return
      scheduler.progress(request.handle, 2000, pick % 3)
      request.state = 'decode'
    } else if (op === 'downstream') {
      const request = among(this.in('prefill', 'decode').filter(({ isLong }) => isLong))
      if (request === undefined) return
      scheduler.enterDownstream(request.handle)
      request.state = 'downstream'
    } else if (op === 'respond') {
      const request = among(
        this.in('prefill', 'decode', 'downstream').filter(({ responded }) => !responded),
      )
      if (request === undefined) return
      scheduler.firstResponse(request.handle, this.now)
      request.responded = true
    } else if (op === 'leave') {
      this.end(of('prefill', 'decode', 'downstream'))
    } else if (op === 'cancel') {
      this.end(of('waiting', 'pinned'))
    } else if (op === 'preempt') {
      const request = of('prefill', 'decode')
      if (request === undefined) return
      scheduler.preempt(request.handle)
      request.state = 'pinned'
      request.wasPreempted = true
    } else {
      const request = of('waiting')
      if (request === undefined) return
      scheduler.pin(request.handle)
      request.state = 'pinned'
      this.removals += 1
    }
  }

  private end(request: Tracked | undefined): void {
    if (request === undefined) return
    if (request.responded) this.scheduler.finish(request.handle)
    else this.scheduler.cancel(request.handle)
    if (request.state === 'waiting') this.removals += 1
    this.live.delete(request.handle)
  }
}
