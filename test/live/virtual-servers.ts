/** Servers for `attach` in virtual time: the twin's own engine, and servers whose times are no form of its model. */
import type { ProbeServer, ProbeShape, ProbeTimes } from '../../src/live/attach/probe.js'
import { createTwinEngine } from '../../src/live/twin/engine.js'
import type { RowTimes } from '../../src/live/twin/request-row.js'
import { calibrateTwin } from '../../src/live/twin/twin-calibration.js'
import { schedulerByPolicy } from '../../src/live/twin/twin-scheduler.js'
import type { TwinSpec } from '../../src/live/twin/twin-spec.js'
import { createSimulation, type Simulation } from '../../src/sim/index.js'

/** Moves a simulation while somebody waits for it. Probes that come in one turn of the event loop start at one instant. */
function pumped(
  simulation: Simulation,
  start: (shape: ProbeShape, done: Done) => void,
): ProbeServer {
  const late: (() => void)[] = []
  const begin = simulation.kind(9, (i) => late[i]!())
  let numPending = 0
  let isPumping = false
  let hasEnded = false
  const pump = (): void => {
    hasEnded = false
    while (numPending > 0 && !hasEnded) simulation.run(simulation.nextMs)
    if (numPending > 0) setImmediate(pump)
    else isPumping = false
  }
  return {
    numBusy: async () => numPending,
    probe: (shape) =>
      new Promise((resolve) => {
        numPending += 1
        late.push(() =>
          start(shape, (times) => {
            numPending -= 1
            hasEnded = true
            resolve(times)
          }),
        )
        simulation.after(shape.delayMs ?? 0, begin, late.length - 1)
        if (isPumping) return
        isPumping = true
        setImmediate(pump)
      }),
  }
}

type Done = (times: ProbeTimes) => void

const REFUSED = {
  status: 400,
  startMs: 0,
  firstTextMs: Number.NaN,
  lastTextMs: Number.NaN,
  firstSoundMs: Number.NaN,
  endMs: 0,
  soundChunks: 0,
  stages: [],
  promptTokens: Number.NaN,
}

/** The engine of a twin without its HTTP. */
export function virtualTwin(spec: TwinSpec, policy = 'vanilla'): ProbeServer {
  const simulation = createSimulation()
  const rows = 256
  const made = schedulerByPolicy(spec, calibrateTwin(spec), policy, rows)
  const engine = createTwinEngine({ spec, ...made, simulation, rows })
  return pumped(simulation, (shape, done) => {
    const classIndex = spec.classes.findIndex((of) => of.output === shape.output)
    const isText = shape.output === 'text'
    let units = 0
    const end = (times: RowTimes): void =>
      done({
        status: 200,
        startMs: times.arrivedMs,
        firstTextMs: times.firstTokenMs,
        lastTextMs: times.decodedMs,
        firstSoundMs: isText ? Number.NaN : times.firstResponseMs,
        endMs: times.finishedMs,
        soundChunks: units,
        promptTokens: shape.promptTokens,
        stages: [
          { busyMs: times.decodedMs - times.admittedMs, firstOutputMs: 0, tokensIn: 0 },
          ...(isText
            ? []
            : [
                {
                  busyMs: times.finishedMs - times.downstreamStartMs,
                  firstOutputMs: 0,
                  tokensIn: 0,
                },
              ]),
        ],
      })
    const row = engine.submit(
      {
        classIndex,
        promptTokens: shape.promptTokens,
        answerTokens: shape.answerTokens || spec.omni.spokenAnswerTokens,
        audioSeconds: shape.audioSeconds,
        images: shape.images,
        videos: 0,
      },
      { end, units: (n) => (units = n) },
    )
    if (row === -1) done(REFUSED)
  })
}

export interface TableServer {
  readonly shared: number
  readonly downstream: number
  readonly holds: boolean
  /** ms of a prompt, of one decoded token, and of the downstream stage; `running` others are in the shared stage. */
  readonly prefillMs: (tokens: number, running: number, nowMs: number) => number
  readonly tokenMs: (running: number, nowMs: number) => number
  readonly soundMs: (tokens: number, running: number, nowMs: number) => number
  /** Whether it answers with the times of its stages. @default true */
  readonly tells?: boolean
}

interface Held {
  readonly shape: ProbeShape
  readonly done: Done
  readonly startMs: number
  firstTextMs: number
  lastTextMs: number
  sharedMs: number
}

/** Places, first come first served, and times from functions. */
export function tableServer(of: TableServer): ProbeServer {
  const simulation = createSimulation()
  const waiting: Held[] = []
  const handed: Held[] = []
  const events: (() => void)[] = []
  const event = simulation.kind(1, (i) => events[i]!())
  let inShared = 0
  let inDownstream = 0
  const after = (ms: number, run: () => void): void => {
    events.push(run)
    simulation.after(ms, event, events.length - 1)
  }
  const look = (): void => {
    while (inDownstream < of.downstream && handed.length > 0) sound(handed.shift()!)
    while (inShared < of.shared && waiting.length > 0) serve(waiting.shift()!)
  }
  const serve = (one: Held): void => {
    const running = inShared++
    const fromMs = simulation.nowMs
    after(of.prefillMs(one.shape.promptTokens, running, fromMs), () => {
      one.firstTextMs = simulation.nowMs
      const tokens = (one.shape.answerTokens || 12) - 1
      after(Math.max(0, tokens) * of.tokenMs(running, fromMs), () => {
        one.lastTextMs = simulation.nowMs
        one.sharedMs = simulation.nowMs - fromMs
        if (one.shape.output === 'text') {
          inShared -= 1
          answer(one, Number.NaN, Number.NaN)
        } else {
          if (!of.holds) inShared -= 1
          handed.push(one)
        }
        look()
      })
    })
  }
  const sound = (one: Held): void => {
    if (of.holds) inShared -= 1
    const running = inDownstream++
    const fromMs = simulation.nowMs
    const busyMs = of.soundMs(one.shape.promptTokens, running, fromMs)
    after(busyMs, () => {
      inDownstream -= 1
      answer(one, fromMs + busyMs / 10, busyMs)
      look()
    })
  }
  const answer = (one: Held, firstSoundMs: number, busyMs: number): void => {
    const stage = (ms: number) => ({ busyMs: ms, firstOutputMs: Number.NaN, tokensIn: 0 })
    const { startMs, firstTextMs, lastTextMs } = one
    const stages = Number.isNaN(busyMs)
      ? [stage(one.sharedMs)]
      : [stage(one.sharedMs), stage(busyMs)]
    one.done({
      status: 200,
      startMs,
      firstTextMs,
      lastTextMs,
      firstSoundMs,
      endMs: simulation.nowMs,
      soundChunks: Number.isNaN(busyMs) ? 0 : 10,
      stages: of.tells === false ? [] : stages,
      promptTokens: one.shape.promptTokens,
    })
  }
  return pumped(simulation, (shape, done) => {
    const none = Number.NaN
    const startMs = simulation.nowMs
    waiting.push({ shape, done, startMs, firstTextMs: none, lastTextMs: none, sharedMs: none })
    look()
  })
}
