/** Two short and two long classes with simple profiles, shared by the tests of the core. */
import type { ClassSpec } from '../../src/core/request-class.js'
import { requestProfiler, type StageProfile } from '../../src/policies/index.js'

export const CLASSES = [
  { name: 'text', path: 'short', sloMs: 400, priority: 0 },
  { name: 'image-in', path: 'short', sloMs: 900, priority: 1 },
  { name: 'speech', path: 'long', sloMs: 3000, priority: 2 },
  { name: 'picture', path: 'long', sloMs: 9000, priority: 3 },
] as const satisfies readonly ClassSpec[]

export type ClassName = (typeof CLASSES)[number]['name']

/** Solo times in ms at 0 and 1,000 prompt tokens: text 20 to 120, image-in 80 to 180, speech 410 to 550, picture 1,560 to 1,700. */
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

export const profiler = requestProfiler(PROFILE)
