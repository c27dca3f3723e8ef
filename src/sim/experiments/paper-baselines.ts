/**
 * @module
 * What the paper (arXiv:2608.01785v1) prints of its *baselines*: all that `identify` fits worlds on. HorizonServe's rows stand in
 * `paper-numbers.ts`, which nothing that fits may load. The paper has no curve per baseline, only the best one at four points of figure 8.
 */

/** Figure 8's quoted points: % over completed of the best baseline. */
export const QUOTED_BASELINES = [
  { gpu: 'rtx-pro-6000', model: 'qwen2.5-omni', rate: 0.45, longFraction: 0.3, baseline: 14.6 },
  { gpu: 'rtx-6000-ada', model: 'qwen2.5-omni', rate: 0.5, longFraction: 0.3, baseline: 12.7 },
  { gpu: 'rtx-6000-ada', model: 'qwen2.5-omni', rate: 0.35, longFraction: 0.6, baseline: 27.5 },
  { gpu: 'rtx-6000-ada', model: 'bagel', rate: 0.35, longFraction: 0.6, baseline: 7 },
] as const

/** Figure 3: BAGEL's text class under vanilla, % over completed, from 0 to 60 % long path. Its rate is not printed. */
export const FIGURE_3_ENDS = { from: 43, to: 4.3 } as const

/** Table 3: shared-stage TPOT under vanilla on RTX 6000 Ada, p50, ms. */
export const VANILLA_TPOT_MS = { 'qwen2.5-omni': 39.5, bagel: 37.1 } as const
