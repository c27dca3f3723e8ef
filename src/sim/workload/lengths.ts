/**
 * @module
 * Laws of lengths fitted to published statistics, so that workloads can be made without shipping anybody's data.
 * Azure and Mooncake: measured shape of the public files (Patel et al., ISCA 2024; Qin et al., FAST 2025). ShareGPT: mean 350 and
 * median 141 prompt tokens, at most 31,601; mean 203.5 answer tokens (sgl-project/sglang#13507). CNN/DailyMail: articles of 781 and
 * summaries of 56 words (See et al., ACL 2017), 1.33 tokens a word. LibriSpeech: 7.4 s in test-clean (openslr.org/12), 1.3 to 35 s.
 */
import {
  clamped,
  type Distribution,
  gammaOf,
  lognormal,
  lognormalOf,
  mixture,
} from '../distributions.js'
import { quantileFit } from './quantile-fit.js'

/** Lengths of the text part of a workload, in tokens. */
export interface TextLengths {
  readonly prompt: Distribution
  readonly answer: Distribution
  readonly note: string
}

/** Share of summarisation prompts among text prompts; the paper names both data sets and not their shares. */
const LONG_TEXT_SHARE = 0.2

// Median 141 and mean 350 give sigma: mean / median = exp(sigma^2 / 2).
const shareGptPrompt = clamped(
  lognormal(Math.log(141), Math.sqrt(2 * Math.log(350 / 141))),
  4,
  31_601,
)
// Only the mean is published; a variation of 1 is assumed, and vLLM's usual limit of 1,024 answer tokens.
const shareGptAnswer = clamped(lognormalOf(203.5, 1), 1, 1024)
const newsPrompt = clamped(lognormalOf(781 * 1.33, 0.5), 100, 4000)
const newsAnswer = clamped(lognormalOf(56 * 1.33, 0.35), 10, 300)

export const TEXT_LENGTHS = {
  sharegpt: {
    prompt: mixture([
      { weight: 1 - LONG_TEXT_SHARE, of: shareGptPrompt },
      { weight: LONG_TEXT_SHARE, of: newsPrompt },
    ]),
    answer: mixture([
      { weight: 1 - LONG_TEXT_SHARE, of: shareGptAnswer },
      { weight: LONG_TEXT_SHARE, of: newsAnswer },
    ]),
    note: 'lengths fitted to published statistics of ShareGPT and CNN/DailyMail (4 : 1, assumed)',
  },
  'azure-conv': {
    prompt: quantileFit({ min: 2, p50: 1020, p95: 4083, p99: 4142, max: 14_050, mean: 1155 }),
    answer: quantileFit({ min: 7, p50: 129, p95: 451, p99: 601, max: 1000, mean: 211 }),
    note: 'lengths fitted to the Azure conversation trace of 2023',
  },
  'azure-code': {
    prompt: quantileFit({ min: 3, p50: 1469, p95: 7303, p99: 7436, max: 7437, mean: 2048 }),
    answer: quantileFit({ min: 6, p50: 13, p95: 95, p99: 251, max: 1899, mean: 28 }),
    note: 'lengths fitted to the Azure code trace of 2023',
  },
  mooncake: {
    prompt: quantileFit({
      min: 891,
      p50: 6909,
      p95: 39_550,
      p99: 85_400,
      max: 126_195,
      mean: 12_035,
    }),
    answer: quantileFit({ min: 1, p50: 350, p95: 698, p99: 1119, max: 2000, mean: 343 }),
    note: 'lengths fitted to the Mooncake conversation trace',
  },
} as const satisfies Record<string, TextLengths>
export type TextLengthsName = keyof typeof TEXT_LENGTHS

/** Seconds of speech in an audio prompt: LibriSpeech test-clean; the variation is assumed. */
export const AUDIO_SECONDS = clamped(gammaOf(7.4, 0.7), 1.3, 35)

/** Text tokens beside a media prompt, or describing an image to be made: a sentence or two, assumed. */
export const MEDIA_PROMPT_TOKENS = clamped(lognormalOf(40, 0.5), 8, 200)

/** Text tokens of a long-path answer around the model's mean; the variation is assumed. */
export function spokenAnswer(mean: number): Distribution {
  return mean <= 1 ? clamped(lognormalOf(1, 0.01), 1, 1) : clamped(lognormalOf(mean, 0.6), 1, 2048)
}
