/**
 * @module
 * What the paper prints (arXiv:2608.01785v1), for setting beside ours. Never read by the model. Where the paper is silent, so is this.
 */
import type { GpuName, ModelName } from '../omni/parameters.js'

export type PaperGpu = Exclude<GpuName, 'h200'>

export const PAPER_GPUS = ['rtx-6000-ada', 'rtx-pro-6000'] as const satisfies readonly PaperGpu[]
export const PAPER_MODELS = [
  'qwen2.5-omni',
  'mimo-audio',
  'bagel',
] as const satisfies readonly ModelName[]

/** Ratio of solo p95 first response, long path over short path. An input of the model. */
export const FIGURE_2 = { 'qwen2.5-omni': 416, 'mimo-audio': 348, bagel: 15 } as const

/** Attainment of BAGEL's text class, percent, as the long path grows from 0 to 60 %. */
export const FIGURE_3 = { from: 43, to: 4.3 } as const

/** Times against the SMs of the shared stage, of 120. An input of the model. */
export const FIGURE_4 = {
  fullSms: 120,
  decodeTpotMs: { 64: 4.8, 80: 4.65, 120: 5.57 },
  corunTtftMs: { 80: 43.3, 120: 94.2 },
} as const

/** Rates from the axes of figure 8; the fraction is 0.3 in the first sweep, the rate 0.35 in the second. */
export const FIGURE_8 = {
  rates: {
    'qwen2.5-omni': [0.2, 0.3, 0.4, 0.45, 0.5],
    'mimo-audio': [0.2, 0.3, 0.4, 0.45, 0.5],
    bagel: [0.3, 0.4, 0.5, 0.6, 0.7],
  },
  fractions: [0.2, 0.4, 0.6, 0.8],
  longFraction: 0.3,
  rate: 0.35,
  quoted: [
    {
      gpu: 'rtx-pro-6000',
      model: 'qwen2.5-omni',
      rate: 0.45,
      longFraction: 0.3,
      horizonServe: 71.9,
      bestBaseline: 14.6,
    },
    {
      gpu: 'rtx-6000-ada',
      model: 'qwen2.5-omni',
      rate: 0.5,
      longFraction: 0.3,
      horizonServe: 53.5,
      bestBaseline: 12.7,
    },
    {
      gpu: 'rtx-6000-ada',
      model: 'qwen2.5-omni',
      rate: 0.35,
      longFraction: 0.6,
      horizonServe: 70,
      bestBaseline: 27.5,
    },
    {
      gpu: 'rtx-6000-ada',
      model: 'bagel',
      rate: 0.35,
      longFraction: 0.6,
      horizonServe: 49,
      bestBaseline: 7,
    },
  ],
  largestRatio: { rate: 4.9, fraction: 7 },
} as const

/** p95 reduction against the best baseline, percent. */
export const FIGURE_9 = {
  'rtx-6000-ada': { 'qwen2.5-omni': 57.1, 'mimo-audio': 42.1, bagel: 38.4 },
  'rtx-pro-6000': { 'qwen2.5-omni': 55.2, 'mimo-audio': 63.7, bagel: 38.4 },
} as const

export const FIGURE_10 = { rate: 0.3, longFraction: 0.4, correlation: 0.926 } as const

/** Attainment without the throttle and without rotation, percent; the full system is 89 to 96 % and each loses at least 17 points. */
export const FIGURE_11 = {
  leastLoss: 17,
  'rtx-6000-ada': { 'qwen2.5-omni': [69, 64], 'mimo-audio': [65, 59], bagel: [65, 64] },
  'rtx-pro-6000': { 'qwen2.5-omni': [72, 67], 'mimo-audio': [63, 62], bagel: [66, 60] },
} as const

/** Shared-stage TPOT of vanilla and of HorizonServe, p50 and p95, ms. */
export const TABLE_3 = {
  'rtx-6000-ada': {
    'qwen2.5-omni': [39.5, 62.9, 40, 64],
    'mimo-audio': [52.4, 54.6, 52.4, 54.6],
    bagel: [37.1, 38.6, 37.4, 38.8],
  },
  'rtx-pro-6000': {
    'qwen2.5-omni': [36, 57.5, 36.3, 58.1],
    'mimo-audio': [48, 50, 48, 50],
    bagel: [34.1, 35.5, 34, 35.4],
  },
} as const

/** Microseconds; Ada and PRO differ by less than a tenth, the first is Ada's. */
export const TABLE_4 = { annotationPerRequest: 0.4, viewPerStep: 1, capPerStep: 0.3 } as const
