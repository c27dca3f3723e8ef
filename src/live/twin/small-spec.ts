/**
 * @module
 * The built-in model of the twin: small enough to be played with in real time, with text, speech and images. It stands for no GPU and
 * no model: its numbers are round ones that give a first token in about 10 ms, first audio in about 200 ms and an image in about 450 ms
 * when alone.
 */
import type { OmniSpec } from '../../sim/index.js'
import { modalityClass } from '../../sim/index.js'

/** Speech comes from this spec's own downstream stage. */
export const SMALL_OMNI: OmniSpec = {
  gpu: 'h200',
  model: 'qwen2.5-omni',
  totalSms: 128,
  tflopPerMs: 0.5,
  gbPerMs: 4,
  kvCapacityTokens: 200_000,
  classes: ['t2t', 't2a', 't2i'].map(modalityClass),
  shared: {
    billionWeights: 2,
    kvBytesPerToken: 50_000,
    attentionWidth: 50_000,
    hostMs: 8,
    hostMsPerAnswerToken: 0,
    slots: 4,
    tokenBudget: 2048,
    kvReserveGb: 0,
    tokensPerAnswerToken: 1,
  },
  inputs: {
    tokensPerAudioSecond: 25,
    tokensPerImage: 300,
    tokensPerVideo: 600,
    tflopPerAudioSecond: 0.05,
    tflopPerImage: 1,
    tflopPerVideo: 2,
  },
  downstream: {
    slots: 2,
    unitsPerAnswerToken: 0.6,
    unitsPerRequest: 0,
    hostMsPerUnit: 20,
    tflopPerUnit: 1,
    gbPerUnit: 16,
    firstResponseAt: 0.02,
  },
  spokenAnswerTokens: 20,
  handOver: { mechanism: 'free', queuePlaces: 0 },
  sharing: {
    memoryTimeBySmFraction: [
      [0.06, 1.8],
      [0.5, 1.04],
      [0.67, 1],
      [1, 1.2],
    ],
    fullAllocationPenalty: 2,
    penaltyStartsAt: 0.67,
    timeSliceSwitch: 0.05,
    pressurePeriodMs: 100,
  },
  overrides: {},
}

/** Images come from a second one. */
export const SMALL_IMAGE: OmniSpec['downstream'] = {
  slots: 1,
  unitsPerAnswerToken: 0,
  unitsPerRequest: 20,
  hostMsPerUnit: 2,
  tflopPerUnit: 10,
  gbPerUnit: 20,
  firstResponseAt: 1,
}
