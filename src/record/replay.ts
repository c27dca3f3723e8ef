/**
 * @module
 * Repeats a recording: makes the scheduler of each section anew, does to it what was done, and compares every answer. The same code
 * and configuration give the same decisions; a difference names its line and what differs.
 */
import { type HorizonConfig, parseConfig } from '../config.js'
import { HorizonError } from '../core/errors.js'
import type { Policy, PressureReading, Scheduler } from '../core/index.js'
import { createScheduler } from '../core/scheduler.js'
import {
  CALLS,
  type CallName,
  LINE,
  PRESSURE,
  RECORDING_VERSION,
  type RecordedValue,
  type SectionHeader,
  unheld,
} from './format.js'
import { decisionNumbers, verdictText } from './recorded-scheduler.js'

export interface ReplayOptions {
  /** The policy, where the recording was made with one that its configuration does not describe. */
  readonly policy?: Policy
  /** Another configuration in place of the recorded one: then decisions differ, and nothing is compared. */
  readonly config?: HorizonConfig
  /** Called after each step, with what decided it. */
  readonly onStep?: (scheduler: Scheduler, section: number) => void
  /** Called with each arrival, first response and end, as it was recorded. */
  readonly onRequest?: (event: ReplayedEvent, scheduler: Scheduler) => void
}

/** What became of a request, at `atMs` on the recorded clock. */
export interface ReplayedEvent {
  readonly kind: 'arrive' | 'firstResponse' | 'finish' | 'cancel'
  readonly section: number
  readonly handle: number
  readonly atMs: number
}

/** Where a replay left the recording. */
export interface ReplayDifference {
  readonly line: number
  readonly step: number
  readonly what: string
  readonly recorded: string
  readonly replayed: string
}

export interface Replay {
  readonly identical: boolean
  readonly sections: number
  readonly steps: number
  readonly arrivals: number
  /** Handles that the engine took from views, compared one by one. */
  readonly taken: number
  readonly difference: ReplayDifference | undefined
  /** Why the recording ends before its time, if it says so. */
  readonly endedBecause: string | undefined
  /** The last line was cut, as a process leaves it that was killed. */
  readonly isCut: boolean
}

const NAMES = ['step', 'phase', 'passed', 'N', 'level', 'waiting', 'hidden', 'protected', 'lost']
const FIRST_OF_DECISION = 7

/** Throws `ERR_RECORD_FORMAT` for what is no recording, and `ERR_RECORD_POLICY` where a policy must be given. */
export function replayRecording(lines: Iterable<string>, options: ReplayOptions = {}): Replay {
  let section: Section | undefined
  let sections = 0
  let steps = 0
  let arrivals = 0
  let taken = 0
  let number = 0
  let isCut = false
  let endedBecause: string | undefined
  let difference: ReplayDifference | undefined
  let cutAt: string | undefined
  for (const text of lines) {
    number += 1
    if (text === '') continue
    if (cutAt !== undefined) throw broken(number - 1, cutAt)
    const value = parse(text)
    if (value === undefined) {
      // Only the last line may be cut.
      cutAt = text
      continue
    }
    if (!Array.isArray(value)) {
      section = open(value as SectionHeader, number, sections, options)
      sections += 1
      continue
    }
    if (section === undefined) throw broken(number, text)
    const line = value as RecordedValue[]
    if (line[0] === LINE.end) {
      endedBecause = String(line[1])
      continue
    }
    const found = section.repeat(line, number)
    if (line[0] === LINE.step) steps += 1
    if (line[0] === LINE.arrive) arrivals += 1
    if (line[0] === LINE.take) taken += line.length - 1
    if (found !== undefined && options.config === undefined) {
      difference = found
      break
    }
  }
  if (cutAt !== undefined) isCut = true
  if (sections === 0) throw broken(1, '')
  return {
    identical: difference === undefined,
    sections,
    steps,
    arrivals,
    taken,
    difference,
    endedBecause,
    isCut,
  }
}

interface Section {
  repeat(line: readonly RecordedValue[], number: number): ReplayDifference | undefined
}

function open(
  header: SectionHeader,
  number: number,
  index: number,
  options: ReplayOptions,
): Section {
  if (header.horizonserve !== 'recording' || header.version !== RECORDING_VERSION) {
    throw new HorizonError('ERR_RECORD_FORMAT', 'no recording of this version', {
      field: `line ${number}`,
      expected: `a header of version ${RECORDING_VERSION}`,
      got: JSON.stringify(header).slice(0, 80),
    })
  }
  if (header.policy !== null && options.policy === undefined) {
    throw new HorizonError('ERR_RECORD_POLICY', 'recorded with a policy of a program of its own', {
      field: 'policy',
      expected: `the policy ${JSON.stringify(header.policy)}, given to replayRecording`,
      got: undefined,
    })
  }
  /** What the source and the actuator answer in the step under way. */
  const said = { kind: 0, value: Number.NaN, timestampMs: Number.NaN, level: -1 }
  const scheduler: Scheduler = createScheduler(
    parseConfig(options.config ?? header.config, {
      ...(options.policy && { policy: options.policy }),
      ...(header.source && {
        pressureSource: {
          name: 'recording',
          sample(out) {
            out.value = said.value
            out.timestampMs = said.timestampMs
            return said.kind === PRESSURE.sampled
          },
        },
      }),
      ...(header.actuator && {
        actuator: { name: 'recording', apply() {}, readBack: () => said.level },
      }),
    }),
  )
  const { cells, inputs, classes } = scheduler
  let lastVerdict = ''
  let lineNumber = number

  const differs = (what: string, recorded: unknown, replayed: unknown) =>
    recorded === replayed
      ? undefined
      : {
          line: lineNumber,
          step: scheduler.decision.step,
          what,
          recorded: String(recorded),
          replayed: String(replayed),
        }

  const arrive = (line: readonly RecordedValue[]): ReplayDifference | undefined => {
    const [, handle, nowMs, c, prompt, audio, images, videos, sloMs, checked] = line as number[]
    let got: number
    if (checked === 1) {
      got = scheduler.arrive(
        {
          class: classes.names[c!]!,
          promptTokens: prompt!,
          audioSeconds: audio!,
          images: images!,
          videos: videos!,
          ...(sloMs === 0 ? {} : { sloMs: sloMs! }),
        },
        nowMs!,
      )
    } else {
      cells[0] = nowMs!
      inputs.set([prompt!, audio!, images!, videos!])
      got = scheduler.arriveNow(c!)
    }
    tell('arrive', handle!, nowMs!)
    return differs('handle of an arrival', handle, got)
  }

  const step = (line: readonly RecordedValue[]): ReplayDifference | undefined => {
    const [, nowMs, active, kind] = line as number[]
    said.kind = kind!
    said.value = unheld(line[4])
    said.timestampMs = unheld(line[5])
    said.level = line[6] as number
    const downstream = active === -1 ? undefined : active === 1
    if (kind === PRESSURE.given) {
      const reading: PressureReading = { value: said.value, timestampMs: said.timestampMs }
      scheduler.step(nowMs!, reading, downstream)
    } else {
      cells[0] = nowMs!
      cells[1] = Number.NaN
      scheduler.stepNow(downstream as boolean)
    }
    options.onStep?.(scheduler, index)
    const got = decisionNumbers(scheduler)
    for (const [i, name] of NAMES.entries()) {
      const found = differs(name, line[FIRST_OF_DECISION + i], got[i])
      if (found !== undefined) return found
    }
    const recorded = line[FIRST_OF_DECISION + NAMES.length]
    if (recorded !== '=') lastVerdict = String(recorded)
    return differs('what is shown of each class', lastVerdict, verdictText(scheduler))
  }

  const take = (line: readonly RecordedValue[]): ReplayDifference | undefined => {
    const { view } = scheduler.decision
    for (let i = 1; i < line.length; i++) {
      const found = differs('request of the view', line[i], view.take())
      if (found !== undefined) return found
    }
    return undefined
  }

  const call = (line: readonly RecordedValue[]): void => {
    const [, name, ...args] = line
    if (!(CALLS as readonly unknown[]).includes(name)) throw broken(lineNumber, String(name))
    const kind = name as CallName
    if (kind === 'firstResponse') tell(kind, args[0] as number, args[1] as number)
    else if (kind === 'finish' || kind === 'cancel') tell(kind, args[0] as number, cells[0]!)
    ;(scheduler[kind] as (...args: unknown[]) => unknown)(...args)
  }

  const tell = (kind: ReplayedEvent['kind'], handle: number, atMs: number): void => {
    options.onRequest?.({ kind, section: index, handle, atMs }, scheduler)
  }

  const dispatch = (line: readonly RecordedValue[]): ReplayDifference | undefined => {
    switch (line[0]) {
      case LINE.arrive:
        return arrive(line)
      case LINE.step:
        return step(line)
      case LINE.take:
        return take(line)
      case LINE.iterate:
        scheduler.decision.view[Symbol.iterator]()
        return undefined
      case LINE.ask:
        return differs('answer of isVisible', line[2] === 1, scheduler.isVisible(line[1] as number))
      case LINE.clock:
        cells[0] = line[1] as number
        return undefined
      case LINE.call:
        call(line)
        return undefined
      default:
        throw broken(lineNumber, JSON.stringify(line))
    }
  }

  return {
    repeat(line, at) {
      lineNumber = at
      try {
        return dispatch(line)
      } catch (error) {
        if (!(error instanceof HorizonError) || error.code === 'ERR_RECORD_FORMAT') throw error
        // What went through when it was recorded is refused now.
        return {
          line: at,
          step: scheduler.decision.step,
          what: JSON.stringify(line),
          recorded: 'accepted',
          replayed: error.message,
        }
      }
    },
  }
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function broken(line: number, text: string): HorizonError {
  return new HorizonError('ERR_RECORD_FORMAT', 'not a line of a recording', {
    field: `line ${line}`,
    expected: 'a header, then arrays as `run --record` writes them',
    got: text.slice(0, 80),
  })
}
