/**
 * @module
 * A scheduler from a configuration, recorded from its start, with what its pressure source and its actuator answer.
 */
import { type HorizonConfig, type HorizonParts, parseConfig } from '../config.js'
import { createScheduler, type Scheduler } from '../core/scheduler.js'
import { PRESSURE, RECORDING_VERSION } from './format.js'
import { type PortAnswers, recordScheduler } from './recorded-scheduler.js'
import type { Recorder } from './recorder.js'

/**
 * `createHorizon` of the main entry, recorded. Begins a section of the recording. Throws what `createHorizon` throws.
 *
 * @example
 * const recorder = createRecorder({ sink: recordingFile('monday.jsonl') })
 * const horizon = createRecordedHorizon(config, recorder)
 */
export function createRecordedHorizon<const Name extends string>(
  config: HorizonConfig<Name>,
  recorder: Recorder,
  parts: HorizonParts = {},
): Scheduler<Name> {
  const answers: PortAnswers = {
    pressure: PRESSURE.none,
    value: Number.NaN,
    timestampMs: Number.NaN,
    appliedLevel: -1,
  }
  const scheduler = createScheduler(parseConfig(config, tapped(parts, answers)))
  const recorded = recordScheduler(scheduler, recorder, answers)
  const header = {
    horizonserve: 'recording',
    version: RECORDING_VERSION,
    config,
    policy: parts.policy?.name ?? null,
    source: parts.pressureSource !== undefined,
    actuator: parts.actuator !== undefined,
    startedAt: new Date().toISOString(),
  } as const
  recorder.begin(header, recorded.putPending)
  return recorded.scheduler
}

/** The same parts, whose answers are noted. */
function tapped(parts: HorizonParts, answers: PortAnswers): HorizonParts {
  const { pressureSource: source, actuator } = parts
  return {
    ...parts,
    ...(source && {
      pressureSource: {
        name: source.name,
        sample(out) {
          const isThere = source.sample(out)
          answers.pressure = isThere ? PRESSURE.sampled : PRESSURE.silent
          answers.value = out.value
          answers.timestampMs = out.timestampMs
          return isThere
        },
      },
    }),
    ...(actuator && {
      actuator: {
        name: actuator.name,
        apply: (level) => actuator.apply(level),
        readBack() {
          answers.appliedLevel = actuator.readBack()
          return answers.appliedLevel
        },
      },
    }),
  }
}
