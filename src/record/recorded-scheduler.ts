/**
 * @module
 * A scheduler whose calls and decisions are recorded: the same object with the calls that change it wrapped. The scheduler below knows
 * nothing of it. A line is written after its call has succeeded, since an error leaves a scheduler as it was.
 */
import type { Decision, MutableDecision } from '../core/decision.js'
import { HIDDEN, LIMITED } from '../core/groups.js'
import type { View } from '../core/index.js'
import { CHUNK_BITS, CHUNK_MASK, WAITING } from '../core/request-table.js'
import type { Scheduler } from '../core/scheduler.js'
import { CALLS, held, LINE, PRESSURE, type RecordedLine, type RecordedValue } from './format.js'
import type { Recorder } from './recorder.js'

/** What the ports outside of the scheduler answered in the step under way. */
export interface PortAnswers {
  /** One of `PRESSURE`; `sampled` and `silent` are set by the source, cleared after the step. */
  pressure: number
  value: number
  timestampMs: number
  appliedLevel: number
}

/** Handles in one line of those taken from a view. */
const TAKES_PER_LINE = 64
const PHASES = { short: 0, long: 1, none: 2 } as const

/** The verdict of a step: one digit for each class and status, then the limits. */
export function verdictText({ groups }: Pick<Scheduler, 'groups'>): string {
  return `${groups.verdict.join('')} ${groups.limits.join(',')}${groups.rescues ? ' r' : ''}`
}

/** What a step decided, as a line holds it: step, phase, passed, n, level, waiting, hidden, protected, lost. */
export function decisionNumbers({ decision }: Pick<Scheduler, 'decision'>): number[] {
  const { step, phase, passed, n, level, waiting, hidden, lost } = decision
  return [step, PHASES[phase], passed ? 1 : 0, n, level, waiting, hidden, decision.protected, lost]
}

/** `putPending` writes what was taken from the view since the last call. */
export function recordScheduler<Name extends string>(
  scheduler: Scheduler<Name>,
  recorder: Recorder,
  answers: PortAnswers,
): { readonly scheduler: Scheduler<Name>; readonly putPending: () => void } {
  const { cells, inputs, table, groups, classes } = scheduler
  let clockMs = cells[0]!
  let lastVerdict = ''
  /** Taken from the view and not yet written. */
  let taken: number[] = []
  let isAsked = false
  /** Lines of what listeners do inside a step, which belong after it. */
  let after: RecordedLine[] | undefined

  const put = (line: RecordedLine): void => {
    if (after === undefined) recorder.line(line)
    else after.push(line)
  }
  const putTaken = (): void => {
    if (taken.length === 0) return
    const handles = taken
    taken = []
    put([LINE.take, ...handles])
  }
  /** Before every call: what has been taken, and where the clock stands. */
  const before = (): void => {
    putTaken()
    isAsked = false
    if (cells[0] === clockMs) return
    clockMs = cells[0]!
    put([LINE.clock, clockMs])
  }
  const took = (handle: number): number => {
    if (!recorder.isOpen) return handle
    isAsked = false
    taken.push(handle)
    if (taken.length === TAKES_PER_LINE) putTaken()
    return handle
  }
  const stepped = (run: () => Decision, active: boolean | undefined, stamp: number): Decision => {
    if (!recorder.isOpen) return run()
    putTaken()
    isAsked = false
    const inside: RecordedLine[] = []
    after = inside
    answers.pressure = PRESSURE.none
    let decision: Decision
    try {
      decision = run()
    } finally {
      after = undefined
    }
    clockMs = cells[0]!
    const given = cells[1]!
    const kind = given >= 0 ? PRESSURE.given : answers.pressure
    const verdict = verdictText(scheduler)
    put([
      LINE.step,
      clockMs,
      active === undefined ? -1 : active ? 1 : 0,
      kind,
      held(kind === PRESSURE.given ? given : answers.value),
      held(kind === PRESSURE.given ? stamp : answers.timestampMs),
      answers.appliedLevel,
      ...decisionNumbers(scheduler),
      verdict === lastVerdict ? '=' : verdict,
    ])
    lastVerdict = verdict
    for (const line of inside) put(line)
    return decision
  }
  const asked = (handle: number, answer: boolean): boolean => {
    if (!recorder.isOpen || isAsked) return answer
    const slot = table.liveSlot(handle)
    const chunk = table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    if (chunk.state[i] !== WAITING) return answer
    const said = groups.verdict[chunk.classIndex[i]! * 3 + chunk.status[i]!]
    if (said !== LIMITED && !(said === HIDDEN && groups.rescues)) return answer
    putTaken()
    put([LINE.ask, handle, answer ? 1 : 0])
    isAsked = true
    return answer
  }
  const arrived = (c: number, handle: number, sloMs: number, checked: number): number => {
    clockMs = cells[0]!
    const [prompt, audio, images, videos] = inputs
    put([LINE.arrive, handle, clockMs, c, prompt!, audio!, images!, videos!, sloMs, checked])
    return handle
  }

  const decision = scheduler.decision as MutableDecision
  const inner = decision.view as View & Iterator<number>
  const view: View & Iterator<number> = {
    take: () => took(inner.take()),
    [Symbol.iterator]() {
      if (recorder.isOpen) {
        putTaken()
        put([LINE.iterate])
      }
      inner[Symbol.iterator]()
      return view as never
    },
    next() {
      const result = inner.next()
      took(result.value as number)
      return result
    },
    return: () => inner.return!(),
  }
  decision.view = view

  const wrapped: Record<string, unknown> = {
    arrive(request: Parameters<typeof scheduler.arrive>[0], nowMs: number) {
      if (recorder.isOpen) before()
      const handle = scheduler.arrive(request, nowMs)
      return recorder.isOpen
        ? arrived(classes.indexOf(request.class), handle, request.sloMs ?? 0, 1)
        : handle
    },
    arriveNow(classIndex: number) {
      if (recorder.isOpen) putTaken()
      const handle = scheduler.arriveNow(classIndex)
      return recorder.isOpen ? arrived(classIndex, handle, 0, 0) : handle
    },
    step(nowMs: number, pressure?: Parameters<typeof scheduler.step>[1], active?: boolean) {
      const stamp = typeof pressure === 'object' ? pressure.timestampMs : nowMs
      return stepped(() => scheduler.step(nowMs, pressure, active), active, stamp)
    },
    stepNow: (active: boolean) => stepped(() => scheduler.stepNow(active), active, cells[0]!),
    isVisible: (handle: number) => asked(handle, scheduler.isVisible(handle)),
    explain(handle: number) {
      const text = scheduler.explain(handle)
      asked(handle, scheduler.isVisible(handle))
      return text
    },
  }
  for (const name of CALLS) {
    const call = scheduler[name] as (...args: never[]) => unknown
    wrapped[name] = (...args: RecordedValue[]) => {
      if (!recorder.isOpen) return call(...(args as never[]))
      before()
      const answer = call(...(args as never[]))
      put([LINE.call, name, ...args])
      return answer
    }
  }
  return {
    scheduler: Object.assign(Object.create(scheduler), wrapped) as Scheduler<Name>,
    putPending: putTaken,
  }
}
