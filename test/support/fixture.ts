/**
 * Two short and two long classes with simple profiles, shared by the tests of the core, and a small reading of a scheduler's insides.
 */
import type { ErrorCode } from '../../src/core/errors.js'
import { HorizonError } from '../../src/core/errors.js'
import type { Policy } from '../../src/core/ports.js'
import type { ClassSpec } from '../../src/core/request-class.js'
import { CHUNK_BITS, CHUNK_MASK, type Chunk } from '../../src/core/request-table.js'
import { createScheduler, type Scheduler } from '../../src/core/scheduler.js'
import type { SchedulerOptions } from '../../src/core/scheduler-options.js'
import { horizonPolicy, requestProfiler, type StageProfile } from '../../src/policies/index.js'

export const CLASSES = [
  { name: 'text', path: 'short', sloMs: 400, priority: 0 },
  { name: 'image-in', path: 'short', sloMs: 900, priority: 1 },
  { name: 'speech', path: 'long', sloMs: 3000, priority: 2 },
  { name: 'picture', path: 'long', sloMs: 9000, priority: 3 },
] as const satisfies readonly ClassSpec[]

export type ClassName = (typeof CLASSES)[number]['name']

/** Solo ms at 0 and 1,000 prompt tokens: text 20 to 120, image-in 80 to 180, speech 410 to 550, picture 1,560 to 1,700. */
export const PROFILE: readonly { readonly name: ClassName; readonly profile: StageProfile }[] = [
  {
    name: 'text',
    profile: {
      shared: {
        promptTokens: [
          [0, 20],
          [1000, 120],
        ],
      },
    },
  },
  {
    name: 'image-in',
    profile: {
      shared: {
        fixedMs: 60,
        promptTokens: [
          [0, 20],
          [1000, 120],
        ],
      },
    },
  },
  {
    name: 'speech',
    profile: {
      shared: {
        promptTokens: [
          [0, 60],
          [1000, 200],
        ],
      },
      downstream: { fixedMs: 350 },
    },
  },
  {
    name: 'picture',
    profile: {
      shared: {
        promptTokens: [
          [0, 60],
          [1000, 200],
        ],
      },
      downstream: { fixedMs: 1500 },
    },
  },
]

export const LADDER = { totalSms: 142, levels: [40, 64, 80] } as const

export function testScheduler(
  policy: Policy = horizonPolicy(),
  more: Partial<SchedulerOptions<ClassName>> = {},
): Scheduler<ClassName> {
  return createScheduler({
    classes: CLASSES,
    profiler: requestProfiler(PROFILE),
    policy,
    ladder: LADDER,
    ...more,
  })
}

/** The row of a live request. */
export function rowOf(
  scheduler: Scheduler<ClassName>,
  handle: number,
): { chunk: Chunk; i: number } {
  const slot = scheduler.table.slotOf(handle)
  return { chunk: scheduler.table.chunks[slot >> CHUNK_BITS]!, i: slot & CHUNK_MASK }
}

/** What `run` throws must be a `HorizonError`; its code and field. */
export function thrownBy(run: () => unknown): { code: ErrorCode; field: string | undefined } {
  try {
    run()
  } catch (error) {
    if (!(error instanceof HorizonError)) throw error
    return { code: error.code, field: error.field }
  }
  throw new Error('expected an error, but nothing was thrown')
}
