/**
 * @module
 * The simulated runtime as a thing to calibrate: the same stages, the same scheduler without a policy, requests taken from a workload.
 */
import { vanillaPolicy } from '../../policies/index.js'
import { horizonScheduler } from '../omni/horizon-scheduler.js'
import type { ModalityClass } from '../omni/modality-class.js'
import { planRequests } from '../omni/request-plan.js'
import { type RuntimeRun, runOmni } from '../omni/runtime.js'
import type { OmniSpec } from '../omni/spec.js'
import { percentile } from '../percentile.js'
import { mixByLongFraction } from '../workload/class-mix.js'
import { generateWorkload } from '../workload/generate.js'
import { selectRequests, type Workload } from '../workload/workload.js'
import type { Calibration } from './calibration.js'
import type { CalibrationTarget } from './collect.js'
import type { SmSweepRow } from './sm-sweep.js'
import type { SoloRecord } from './solo-record.js'

/** Far enough apart that no request ever meets another. */
const ALONE_MS = 1e8
/** Probes per SM count, and the point of a long request's downstream time at which they are sent. */
const PROBES = 8
const PROBE_AT = 0.2

/**
 * Classes run alone with requests of `workload`. The sweep is a property of the model and the GPU, not of the traffic: it takes its
 * requests from a synthetic workload of its own.
 */
export function simulatedTarget(spec: OmniSpec, workload: Workload): CalibrationTarget {
  const sweepWorkload = generateWorkload({
    spec,
    mix: mixByLongFraction(spec.classes, 0.5),
    rate: 1,
    extent: { requests: 128 },
    seed: 0,
  })
  const present = workload.classes.filter((_, index) => workload.classIndex.includes(index))

  function runAlone(className: string, count: number): SoloRecord[] {
    const indices = evenly(
      indicesOf(workload, (of) => of.name === className),
      count,
    )
    const arrivals = Float64Array.from(indices, (_, i) => i * ALONE_MS)
    const alone = firstTokenOnly(selectRequests(workload, `${className} alone`, indices, arrivals))
    const { record, plan } = run(spec, alone, spec.totalSms)
    return indices.flatMap((_, i): SoloRecord[] => {
      // A request that the runtime turns away has no latency.
      const firstResponseMs = (record.firstResponseMs[i] as number) - (arrivals[i] as number)
      if (Number.isNaN(firstResponseMs)) return []
      const isLong = (plan.units[i] as number) > 0
      const handOver = record.decodedMs[i] as number
      return [
        {
          class: className,
          promptTokens: plan.prefillTokens[i] as number,
          audioSeconds: alone.audioSeconds[i] as number,
          images: alone.images[i] as number,
          videos: alone.videos[i] as number,
          sharedMs: isLong ? handOver - (arrivals[i] as number) : firstResponseMs,
          downstreamMs: isLong ? (record.firstResponseMs[i] as number) - handOver : 0,
          downstreamBusyMs: isLong ? (record.finishedMs[i] as number) - handOver : 0,
          firstResponseMs,
        },
      ]
    })
  }

  function runAtSms(sms: number): SmSweepRow {
    const probes = evenly(probeIndices(), PROBES)
    const long = evenly(
      indicesOf(sweepWorkload, (of) => of.path === 'long'),
      PROBES,
    )
    const apart = Float64Array.from(probes, (_, i) => i * ALONE_MS)
    const decode = run(spec, selectRequests(sweepWorkload, 'decode alone', probes, apart), sms)
    // When each long request is downstream, from a run without probes: that is when a probe is sent.
    const rounds = long.map((_, i) => i * ALONE_MS)
    const busy = run(
      spec,
      selectRequests(sweepWorkload, 'downstream alone', long, Float64Array.from(rounds)),
      sms,
    )
    const sendMs = rounds.map((_, i) => {
      const from = busy.record.decodedMs[i] as number
      return from + ((busy.record.finishedMs[i] as number) - from) * PROBE_AT
    })
    const probe = besideDownstream(probes, long, rounds, sendMs, 1)
    const one = run(spec, firstTokenOnly(probe), sms)
    const full = run(spec, besideDownstream(probes, long, rounds, sendMs, spec.shared.slots), sms)
    return {
      sms,
      decodeTpotMs: round(median(tpots(decode))),
      corunTtftMs: round(median(probeLatencies(one))),
      corunPressure: round(full.corunningActivity),
    }
  }

  /** Requests of the text-input class of the short path (figure 4 probes with short text requests), or of the short path. */
  function probeIndices(): number[] {
    const text = indicesOf(sweepWorkload, (of) => of.path === 'short' && of.input === 'text')
    return text.length > 0 ? text : indicesOf(sweepWorkload, (of) => of.path === 'short')
  }

  /** Each round: one long request alone, and `count` probes at once while it is downstream. */
  function besideDownstream(
    probes: readonly number[],
    long: readonly number[],
    rounds: readonly number[],
    sendMs: readonly number[],
    count: number,
  ): Workload {
    const indices: number[] = []
    const atMs: number[] = []
    for (const [i, startMs] of rounds.entries()) {
      indices.push(long[i] as number)
      atMs.push(startMs)
      for (let k = 0; k < count; k++) {
        indices.push(probes[(i + k) % probes.length] as number)
        atMs.push(sendMs[i] as number)
      }
    }
    return selectRequests(
      sweepWorkload,
      'probes beside downstream',
      indices,
      Float64Array.from(atMs),
    )
  }

  return { totalSms: spec.totalSms, classes: present.map((of) => of.name), runAlone, runAtSms }
}

type Run = RuntimeRun & { workload: Workload; plan: ReturnType<typeof planRequests> }

/** Runs a workload first come first served with the shared stage held to `sms` throughout. */
function run(spec: OmniSpec, workload: Workload, sms: number): Run {
  const plan = planRequests(spec, workload)
  const scheduler = horizonScheduler(
    spec,
    workload,
    vanillaPolicy(),
    uncalibrated(workload.classes, spec.totalSms, sms),
    plan.prefillTokens,
  )
  const sharing = sms < spec.totalSms ? 'green-contexts' : 'mps'
  return { ...runOmni({ spec, sharing, workload, plan, scheduler }), workload, plan }
}

/** Placeholders: a policy that orders by arrival and caps nothing reads neither SLOs nor profiles. */
function uncalibrated(
  classes: readonly ModalityClass[],
  totalSms: number,
  sms: number,
): Calibration {
  return {
    classes: classes.map(({ name, path, priority }) => ({
      name,
      path,
      priority,
      soloP95Ms: 1,
      sloMs: 1,
      profile: { shared: { fixedMs: 1 } },
      samples: 0,
    })),
    ladder: { totalSms, levels: [Math.max(1, sms - 1)], aggressiveSms: Math.max(2, sms) },
    saturation: 1,
  }
}

function tpots({ record, plan }: Run): number[] {
  return [...record.firstTokenMs].flatMap((first, i) => {
    const tokens = (plan.decodeTokens[i] as number) - 1
    return tokens > 0 ? [((record.decodedMs[i] as number) - first) / tokens] : []
  })
}

/** A short-path request has had its first response with its first token: what it would decode after that is not asked for. */
function firstTokenOnly(workload: Workload): Workload {
  const isShort = (i: number): boolean =>
    workload.classes[workload.classIndex[i] as number]?.path === 'short'
  const answerTokens = workload.answerTokens.map((tokens, i) => (isShort(i) ? 1 : tokens))
  return { ...workload, answerTokens }
}

/** First-response latencies of the short requests. */
function probeLatencies({ record, workload }: Run): number[] {
  const latencies: number[] = []
  for (let i = 0; i < workload.size; i++) {
    if (workload.classes[workload.classIndex[i] as number]?.path !== 'short') continue
    latencies.push((record.firstResponseMs[i] as number) - (workload.arrivalMs[i] as number))
  }
  return latencies
}

function indicesOf(workload: Workload, accept: (of: ModalityClass) => boolean): number[] {
  const indices: number[] = []
  for (let i = 0; i < workload.size; i++) {
    if (accept(workload.classes[workload.classIndex[i] as number] as ModalityClass)) indices.push(i)
  }
  return indices
}

/** Up to `count` of the values, spread evenly over them. */
function evenly(values: readonly number[], count: number): number[] {
  const n = Math.min(count, values.length)
  return Array.from({ length: n }, (_, i) => values[Math.floor((i * values.length) / n)] as number)
}

function median(values: readonly number[]): number {
  return percentile(Float64Array.from(values.filter((value) => !Number.isNaN(value))).sort(), 0.5)
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
