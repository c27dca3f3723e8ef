/**
 * @module
 * What a request that arrived at this engine now would meet: the wait for a shared-stage slot, then the estimate that the step itself
 * uses (slowdown times solo work plus the expected downstream wait). An endpoint publishes it, a picker reads it. How long a slot is
 * held is measured here, by Little's law over the last minute: requests in slots, integrated over time, per admission.
 */
import { doubles } from '../core/columns.js'
import { expectNumber } from '../core/errors.js'
import { INPUT, WORK } from '../core/ports.js'
import { LONG } from '../core/request-class.js'
import { CHUNK_BITS, CHUNK_MASK, LOST, ORDINARY, PROTECTED } from '../core/request-table.js'
import type { Scheduler } from '../core/scheduler.js'

/** One endpoint at one moment. Columns are per class, in the scheduler's order; reused by `read`. */
export interface EndpointSample {
  /** First response of a request of the class that arrived now, ms after its arrival. */
  readonly expectedMs: Float64Array
  /** Requests that wait for the shared stage, and those of them that can no longer meet their SLO. */
  readonly waiting: Float64Array
  readonly lost: Float64Array
  /** Requests that hold a slot of the shared stage, and all those that do or are downstream. */
  readonly inShared: Float64Array
  readonly inFlight: Float64Array
  slots: number
  /** Mean time that a request holds its slot, ms; 0 while none was seen. */
  holdMs: number
  /** How much later a long-path request responds for each one before it in the downstream queue, ms. */
  longStepMs: number
}

export interface EndpointOutlook {
  /** Books the time since the last call. Call it at every step, or as often as it is read. */
  tick(nowMs: number): void
  /** Writes what holds now. */
  read(out: EndpointSample): void
}

export interface EndpointOutlookOptions {
  /** Slots of the shared stage. @default the most that were ever held at once */
  readonly slots?: number
  /** Long-path requests that the downstream stages serve at once. @default 1 */
  readonly downstreamConcurrency?: number
}

/** Weight of an observation halves in about this time. */
const WINDOW_MS = 60_000
/** Weight of a new request in the mean solo work of its class. */
const GAIN = 0.1
/** Inputs of a request while none of its class has answered yet. */
const USUAL = Object.freeze({ promptTokens: 256, audioSeconds: 10, images: 1, videos: 1 })

export function emptySample(numClasses: number): EndpointSample {
  return {
    expectedMs: doubles(numClasses),
    waiting: doubles(numClasses),
    lost: doubles(numClasses),
    inShared: doubles(numClasses),
    inFlight: doubles(numClasses),
    slots: 1,
    holdMs: 0,
    longStepMs: 0,
  }
}

/** Listens to the scheduler's first responses. Throws `ERR_POLICIES_OUTLOOK` for impossible options. */
export function createEndpointOutlook(
  scheduler: Scheduler,
  options: EndpointOutlookOptions = {},
): EndpointOutlook {
  const { classes, signals, estimates, profiler, recorder, table } = scheduler
  const { count, path } = classes
  const concurrency = options.downstreamConcurrency ?? 1
  expectNumber('ERR_POLICIES_OUTLOOK', 'downstreamConcurrency', concurrency, 1)
  if (options.slots !== undefined) expectNumber('ERR_POLICIES_OUTLOOK', 'slots', options.slots, 1)
  const soloMs = doubles(count)
  const busyMs = doubles(count)
  const admitted = doubles(count)
  const out = doubles(3)
  const inputs = doubles(4)
  for (const name of Object.keys(USUAL) as (keyof typeof USUAL)[]) inputs[INPUT[name]] = USUAL[name]
  for (let c = 0; c < count; c++) {
    profiler.annotate(c, inputs, out)
    soloMs[c] = out[WORK.shared]! + out[WORK.downstream]!
    busyMs[c] = out[WORK.downstreamBusy]!
  }
  let mostHeld = 1
  let lastMs = Number.NaN
  /** Decayed: slot time in ms, admissions. */
  let heldMs = 0
  let admissions = 0

  scheduler.events.on('firstResponse', (handle) => {
    const slot = table.liveSlot(handle)
    const chunk = table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const c = chunk.classIndex[i]!
    soloMs[c]! += GAIN * (chunk.sharedWorkMs[i]! + chunk.downstreamWorkMs[i]! - soloMs[c]!)
    busyMs[c]! += GAIN * (chunk.downstreamBusyMs[i]! - busyMs[c]!)
  })

  const inShared = (): number => {
    let sum = 0
    for (let c = 0; c < count; c++) sum += signals.inShared[c]!
    return sum
  }

  /** Of the long-path classes, while none of their requests is here. */
  const usualBusyMs = (): number => {
    let sum = 0
    let n = 0
    for (let c = 0; c < count; c++) {
      if (path[c] !== LONG) continue
      sum += busyMs[c]! * estimates.slowdown[c]!
      n += 1
    }
    return n === 0 ? 0 : sum / n
  }

  return {
    tick(nowMs) {
      const held = inShared()
      if (held > mostHeld) mostHeld = held
      let fresh = 0
      for (let c = 0; c < count; c++) {
        const total = recorder.counters[c]!.admitted
        fresh += total - admitted[c]!
        admitted[c] = total
      }
      const passed = Number.isNaN(lastMs) ? 0 : Math.max(0, nowMs - lastMs)
      const kept = Math.exp(-passed / WINDOW_MS)
      heldMs = heldMs * kept + held * passed
      admissions = admissions * kept + fresh
      lastMs = nowMs
    },
    read(sample) {
      const held = inShared()
      const slots = options.slots ?? mostHeld
      const holdMs = admissions > 0 ? heldMs / admissions : 0
      let queued = signals.alwaysVisible
      let longs = 0
      let longBusyMs = 0
      for (let c = 0; c < count; c++) {
        const at = c * 3
        queued += signals.waiting[at + ORDINARY]! + signals.waiting[at + PROTECTED]!
        sample.waiting[c] =
          signals.waiting[at]! + signals.waiting[at + 1]! + signals.waiting[at + 2]!
        sample.lost[c] = signals.waiting[at + LOST]!
        sample.inShared[c] = signals.inShared[c]!
        sample.inFlight[c] = signals.inShared[c]! + signals.inDownstream[c]!
        if (path[c] !== LONG) continue
        const here = sample.inFlight[c]! + sample.waiting[c]!
        longs += here
        longBusyMs += here * busyMs[c]! * estimates.slowdown[c]!
      }
      const slotWaitMs = (Math.max(0, held + queued - slots + 1) * holdMs) / slots
      const meanBusyMs = longs > 0 ? longBusyMs / longs : usualBusyMs()
      sample.longStepMs = meanBusyMs / concurrency
      for (let c = 0; c < count; c++) {
        let ms = slotWaitMs + estimates.slowdown[c]! * soloMs[c]!
        // Those that still wait for the shared stage will be in the downstream queue before a newcomer.
        if (path[c] === LONG) ms += Math.max(0, longs - concurrency + 1) * sample.longStepMs
        sample.expectedMs[c] = ms
      }
      sample.slots = slots
      sample.holdMs = holdMs
    },
  }
}
