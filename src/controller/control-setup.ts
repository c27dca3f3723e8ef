/**
 * @module
 * What a controller decides with, from a configuration: the core scheduler, the rules of the table, the class descriptions. The
 * configuration is a plain record, so that it can be handed to the doorbell worker as it is.
 */
import { MAX_WIRE_CLASSES } from '../adapters/layout.js'
import { type HorizonConfig, type HorizonParts, parseConfig } from '../config.js'
import { createScheduler, HorizonError, type Scheduler } from '../core/index.js'
import { createRecordedHorizon, type Recorder } from '../record/index.js'
import { describeClasses } from './class-descriptions.js'
import { type PublishedRules, publishedRules } from './published-rules.js'

/** A configuration made live. */
export interface ControlSetup {
  readonly scheduler: Scheduler
  /** `undefined` for a policy that needs lockstep. */
  readonly rules: PublishedRules | undefined
  readonly descriptions: string
}

/** With a recorder, the scheduler is recorded. @throws `ERR_CONTROLLER_CLASSES`, and what `parseConfig` throws. */
export function buildControl(
  config: HorizonConfig,
  parts: HorizonParts = {},
  recorder?: Recorder,
): ControlSetup {
  const options = parseConfig(config, parts)
  if (options.classes.length > MAX_WIRE_CLASSES) {
    throw new HorizonError('ERR_CONTROLLER_CLASSES', 'too many classes to publish to an engine', {
      field: 'classes',
      expected: `at most ${MAX_WIRE_CLASSES}`,
      got: options.classes.length,
    })
  }
  return {
    scheduler:
      recorder === undefined
        ? createScheduler(options)
        : createRecordedHorizon(config, recorder, parts),
    rules: parts.policy === undefined ? publishedRules(config) : undefined,
    descriptions: describeClasses(config),
  }
}
