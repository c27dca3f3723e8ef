/**
 * @module
 * What an operator would have measured on the twin before it serves: solo latencies class by class and an SM sweep, run on the twin's
 * own engine in virtual time, fitted by `calibrate`. The scheduler in the loop knows no more of the model than that.
 */
import { createScheduler } from '../../core/index.js'
import { requestProfiler, vanillaPolicy } from '../../policies/index.js'
import {
  type Calibration,
  calibrate,
  createRng,
  createSimulation,
  generateWorkload,
  mixByLongFraction,
  type SoloRecord,
  simulatedTarget,
} from '../../sim/index.js'
import {
  AUDIO_SECONDS,
  MEDIA_PROMPT_TOKENS,
  spokenAnswer,
  TEXT_LENGTHS,
} from '../../sim/workload/lengths.js'
import { createTwinEngine } from './engine.js'
import type { RowTimes, TwinRequest } from './request-row.js'
import type { TwinSpec } from './twin-spec.js'

const SOLO_RUNS = 60

/** A second of work, and the same for the same spec: the last few are kept. */
const kept = new Map<string, Calibration>()
const KEPT = 16

/** Classes carry the names of the spec. The same spec gives the same calibration. */
export function calibrateTwin(spec: TwinSpec): Calibration {
  const { omni, image, classes, sloMultiplier } = spec
  const key = JSON.stringify({ omni, image, classes, sloMultiplier })
  const found = kept.get(key)
  if (found !== undefined) return found
  const calibration = measure(spec)
  if (kept.size >= KEPT) kept.clear()
  kept.set(key, calibration)
  return calibration
}

function measure(spec: TwinSpec): Calibration {
  const solo = spec.classes.flatMap((_, index) => soloRecords(spec, index))
  const sweepSpec = spec.omni
  const workload = generateWorkload({
    spec: sweepSpec,
    mix: mixByLongFraction(sweepSpec.classes, 0.5),
    rate: 1,
    extent: { requests: 32 },
    seed: 0,
  })
  const target = simulatedTarget(sweepSpec, workload)
  const counts = [1, 2, 3, 4, 5, 6, 7].map((n) =>
    Math.max(1, Math.round((n * sweepSpec.totalSms) / 8)),
  )
  const sweep = [...new Set([...counts, sweepSpec.totalSms])].map((sms) => target.runAtSms(sms))
  const fitted = calibrate(solo, sweep, {
    totalSms: sweepSpec.totalSms,
    multiplier: spec.sloMultiplier,
  })
  return {
    ...fitted,
    classes: fitted.classes.map((of) => ({
      ...of,
      name: spec.classes.find(({ modality }) => modality === of.name)?.name ?? of.name,
    })),
  }
}

/** Requests of one class, one at a time, of lengths drawn from the simulator's laws. */
function soloRecords(spec: TwinSpec, classIndex: number): SoloRecord[] {
  const { output, inputs, modality } = spec.classes[classIndex] as TwinSpec['classes'][number]
  const simulation = createSimulation()
  const engine = createTwinEngine({
    spec,
    sharing: 'mps',
    simulation,
    rows: 4,
    classNames: spec.classes.map((of) => of.name),
    horizon: createScheduler({
      classes: spec.classes.map((of) => ({
        name: of.name,
        path: of.output === 'text' ? ('short' as const) : ('long' as const),
        sloMs: 1,
        priority: 0,
      })),
      profiler: requestProfiler(
        spec.classes.map(({ name }) => ({ name, profile: { shared: { fixedMs: 1 } } })),
      ),
      policy: vanillaPolicy(),
      ladder: {
        totalSms: spec.omni.totalSms,
        levels: [Math.max(1, spec.omni.totalSms - 1)],
        aggressiveSms: spec.omni.totalSms,
      },
    }),
  })
  const rng = createRng(7).fork(modality)
  const spoken = spokenAnswer(spec.omni.spokenAnswerTokens)
  const records: SoloRecord[] = []
  for (let i = 0; i < SOLO_RUNS; i++) {
    const text = output !== 'image' && inputs.includes('text')
    const request: TwinRequest = {
      classIndex,
      promptTokens: Math.max(
        1,
        Math.round((text ? TEXT_LENGTHS.sharegpt.prompt : MEDIA_PROMPT_TOKENS).sample(rng)),
      ),
      // The first response of text leaves with its first token: what follows is not asked for.
      answerTokens: output === 'text' ? 1 : Math.max(1, Math.round(spoken.sample(rng))),
      audioSeconds: inputs[0] === 'audio' ? AUDIO_SECONDS.sample(rng) : 0,
      images: inputs[0] === 'image' ? 1 : 0,
      videos: inputs[0] === 'video' ? 1 : 0,
    }
    const promptTokens = engine.prefillTokens(request)
    const row = engine.submit(request, {
      end: (times) => records.push(recordOf(modality, { ...request, promptTokens }, times)),
    })
    if (row !== -1) simulation.run()
  }
  return records
}

function recordOf(name: string, request: TwinRequest, times: RowTimes): SoloRecord {
  const { arrivedMs, decodedMs, firstResponseMs, finishedMs } = times
  const isLong = !name.endsWith('2t')
  return {
    class: name,
    promptTokens: request.promptTokens,
    audioSeconds: request.audioSeconds,
    images: request.images,
    videos: request.videos,
    sharedMs: (isLong ? decodedMs : firstResponseMs) - arrivedMs,
    downstreamMs: isLong ? firstResponseMs - decodedMs : 0,
    downstreamBusyMs: isLong ? finishedMs - decodedMs : 0,
    firstResponseMs: firstResponseMs - arrivedMs,
  }
}
