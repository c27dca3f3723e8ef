import type { Batch } from '../../src/sim/vllm/batch.js'
import { createCurve } from '../../src/sim/vllm/curve.js'
import { type EngineSettings, engineSettings } from '../../src/sim/vllm/engine-settings.js'
import type { RecordedRequest } from '../../src/sim/vllm/recorded-run.js'
import type { RequestTable } from '../../src/sim/vllm/request-table.js'
import type { EngineConstants, KernelTables, StepPrice } from '../../src/sim/vllm/step-price.js'

/** The recorded runs, relative to the repository; tests that need them skip where they are absent. */
export const RUNS = '../shared/traces/vllm-groundtruth'

export function settingsOf(overrides: Partial<EngineSettings> = {}): EngineSettings {
  const meta = { engine_kwargs: { model: 'meta-llama/Llama-3.1-8B', max_num_seqs: 8 } }
  return { ...engineSettings(meta, 'test'), maxBatchedTokens: 256, ...overrides }
}

export const FREE: EngineConstants = {
  stepMs: 0,
  promptStepMs: 0,
  outputMs: 0,
  launchMs: 0,
  collectiveUs: 0,
  collectiveBytesPerUs: Infinity,
}

/** A step takes 10 ms and 0.1 ms more for each token beyond one per sequence. */
export const PLAIN_PRICE: StepPrice = {
  stepMs: (batches) =>
    Math.max(
      0,
      ...batches.map((b: Batch) => (b.tokens === 0 ? 0 : 10 + (b.tokens - b.sequences) / 10)),
    ),
  promptMs: (tokens) => 10 + tokens / 10,
  paddedTokens: (batch) => batch.tokens,
}

/** Tables whose every kernel is linear in its work, so that prices can be checked by hand. */
export function linearTables(): KernelTables {
  const line = (perUnit: number, floor: number) =>
    createCurve([1, 4096], [floor + perUnit, floor + 4096 * perUnit], 'line')
  return {
    dense: new Map([
      ['embedding', line(0.01, 2)],
      ['layernorm', line(0.01, 2)],
      ['qkv_proj', line(0.1, 30)],
      ['gate_up_proj', line(0.4, 150)],
    ]),
    perSequence: new Map([['lm_head', line(1, 700)]]),
    attention: {
      at: (chunk, history, decodes, context) =>
        decodes * context * 0.003 + chunk * (history + chunk / 2) * 6e-5 + (chunk > 0 ? 20 : 8),
    },
    skew: { alpha: () => 0 },
    moe: undefined,
  }
}

/** A simulated run, as if it had been recorded. */
export function recordOf(table: RequestTable): RecordedRequest[] {
  return Array.from({ length: table.count }, (_, i) => ({
    id: `r${i}`,
    promptTokens: table.promptTokens[i]!,
    outputTokens: table.outputTokens[i]!,
    readyMs: table.readyMs[i]!,
    queuedMs: table.queuedMs[i]!,
    scheduledMs: table.scheduledMs[i]!,
    firstTokenMs: table.firstTokenMs[i]!,
    lastTokenMs: table.lastTokenMs[i]!,
  }))
}
