/**
 * @module
 * How long the GPU takes for one step, from kernel tables: embedding, then per layer norms, projections, attention and feed-forward (or
 * experts), then the last norm, logits and sampling. Decode-only batches that fit a captured graph run padded to its size.
 */
import type { AttentionTable } from './attention-table.js'
import { addToBatch, type Batch, clearBatch, createBatch } from './batch.js'
import {
  type CollectiveConstants,
  collectivesUs,
  EXCHANGE_CALLS,
  exchangeBytes,
  tensorParallelBytes,
  tensorParallelCalls,
} from './collectives.js'
import type { Curve } from './curve.js'
import type { EngineSettings } from './engine-settings.js'
import { expectedAwake, type MoeTable } from './moe-table.js'
import type { SkewTable } from './skew-table.js'

/** The kernel tables of one model on one GPU at one tensor-parallel degree. Times in microseconds. */
export interface KernelTables {
  /** Per token kernels by name, for instance `qkv_proj`. */
  readonly dense: ReadonlyMap<string, Curve>
  /** Per sequence kernels: `lm_head`, `sampler`. */
  readonly perSequence: ReadonlyMap<string, Curve>
  readonly attention: AttentionTable
  readonly skew: SkewTable
  readonly moe: MoeTable | undefined
}

/** Constants that no kernel table holds. */
export interface EngineConstants extends CollectiveConstants {
  /** What every step takes besides its kernels: preparing inputs, copies, gaps. */
  readonly stepMs: number
  /** What a step with a prompt chunk takes on top: it runs outside the captured graphs, launched kernel by kernel. */
  readonly promptStepMs: number
  /** From the end of the GPU's work to the stamp on the tokens, without and per sequence. */
  readonly outputMs: number
  /** CPU time to schedule and launch a step. */
  readonly launchMs: number
}

/** Kernels that run once per layer and number of times they do. */
const PER_LAYER: readonly (readonly [string, number])[] = [
  ['layernorm', 2],
  ['qkv_proj', 1],
  ['qk_norm', 1],
  ['rotary_emb', 1],
  ['o_proj', 1],
  ['gate_up_proj', 1],
  ['act_fn', 1],
  ['down_proj', 1],
]
const ONCE = ['embedding', 'final_layernorm']

export interface StepPrice {
  /** Milliseconds of GPU time for the batches of all data-parallel engines, which step together. */
  stepMs(batches: readonly Batch[]): number
  /** Milliseconds of a step that holds one prompt chunk of `tokens` tokens and nothing else. */
  promptMs(tokens: number): number
  /** Tokens that the dense kernels see for a batch: those of the captured graph it runs in. */
  paddedTokens(batch: Batch): number
}

export function createStepPrice(
  tables: KernelTables,
  settings: EngineSettings,
  constants: EngineConstants,
): StepPrice {
  const { shape, graphSizes, tensorParallel } = settings
  const layerCurves: Curve[] = []
  const layerCounts: number[] = []
  for (const [name, times] of PER_LAYER) {
    const curve = tables.dense.get(name)
    if (curve === undefined) continue
    layerCurves.push(curve)
    layerCounts.push(times)
  }
  const onceCurves = ONCE.map((name) => tables.dense.get(name)).filter((c) => c !== undefined)
  const perSequence = [...tables.perSequence.values()]
  const largestGraph = graphSizes[graphSizes.length - 1] ?? 0

  const padded = new Int32Array(largestGraph + 1)
  for (let tokens = 1, i = 0; tokens <= largestGraph; tokens++) {
    while ((graphSizes[i] as number) < tokens) i++
    padded[tokens] = graphSizes[i] as number
  }
  const paddedTokens = (tokens: number): number =>
    tokens > largestGraph ? tokens : (padded[tokens] as number)

  // A run meets the same batch sizes thousands of times.
  const denseMemo = new Float64Array(4096)

  function denseUs(tokens: number): number {
    const known = denseMemo[tokens]
    if (known !== undefined && known !== 0) return known
    let us = 0
    for (let i = 0; i < layerCurves.length; i++)
      us += (layerCounts[i] as number) * (layerCurves[i] as Curve).ceil(tokens)
    us *= shape.layers
    for (const curve of onceCurves) us += curve.ceil(tokens)
    if (tokens < denseMemo.length) denseMemo[tokens] = us
    return us
  }

  // Work of a query-key pair at the rate of the largest chunk: what a further chunk adds to a kernel that is busy anyway.
  const pairUs =
    (tables.attention.at(2048, 8192, 0, 0) - tables.attention.at(2048, 0, 0, 0)) / (2048 * 8192)

  function attentionUs(batch: Batch): number {
    let main = -1
    for (let i = 0; i < batch.chunks; i++)
      if (main < 0 || (batch.chunkTokens[i] as number) > (batch.chunkTokens[main] as number))
        main = i
    const chunk = main < 0 ? 0 : (batch.chunkTokens[main] as number)
    const history = main < 0 ? 0 : (batch.chunkHistory[main] as number)
    const { decodes } = batch
    const mean = decodes === 0 ? 0 : batch.contextSum / decodes
    let us = tables.attention.at(chunk, history, decodes, mean)
    if (decodes > 1 && batch.contextMax > batch.contextMin) {
      const share = (mean - batch.contextMin) / (batch.contextMax - batch.contextMin)
      const alpha = tables.skew.alpha(decodes, share)
      if (chunk === 0) us += alpha * (tables.attention.at(0, 0, decodes, batch.contextMax) - us)
    }
    for (let i = 0; i < batch.chunks; i++) {
      if (i === main) continue
      const tokens = batch.chunkTokens[i] as number
      us += pairUs * tokens * ((batch.chunkHistory[i] as number) + tokens / 2)
    }
    return us
  }

  const single = createBatch(1)

  /** All of a layer's experts, spread over the engines that step together, with the exchange of tokens before and after. */
  function expertsUs(tokens: number): number {
    if (tables.moe === undefined) return 0
    const parts = settings.expertParallel ? settings.dataParallel * tensorParallel : 1
    const awake = expectedAwake(shape.experts, shape.expertsPerToken, tokens)
    // Each part multiplies its share of the tokens, but its kernels walk the rows of all of them: the mean of both readings.
    const share = tables.moe.at(tokens / parts, awake / parts)
    const us = parts === 1 ? share : (share + tables.moe.at(tokens, awake / parts)) / 2
    if (settings.dataParallel === 1) return us
    return us + collectivesUs(constants, EXCHANGE_CALLS, exchangeBytes(settings, tokens))
  }

  const sequenceMemo = new Float64Array(settings.maxSeqs + 1)

  function sequencesUs(sequences: number): number {
    const known = sequenceMemo[sequences]
    if (known !== undefined && known !== 0) return known
    let us = 0
    for (const curve of perSequence) us += curve.ceil(sequences)
    if (sequences < sequenceMemo.length) sequenceMemo[sequences] = us
    return us
  }

  function engineUs(batch: Batch, tokens: number): number {
    const us = denseUs(tokens) + sequencesUs(batch.sequences) + shape.layers * attentionUs(batch)
    if (tensorParallel === 1) return us
    const bytes = tensorParallelBytes(settings, tokens, batch.sequences)
    return us + collectivesUs(constants, tensorParallelCalls(settings), bytes)
  }

  function stepMs(batches: readonly Batch[]): number {
    let most = 0
    let sum = 0
    let prompt = false
    for (const batch of batches) {
      if (batch.chunks > 0) prompt = true
      const tokens = paddedTokens(batch.tokens)
      sum += tokens
      most = Math.max(most, tokens)
    }
    if (sum === 0) return 0
    // Engines that step together replay one graph, padded to the fullest; an idle one computes padding.
    const together = prompt ? sum : most * batches.length
    let slowest = 0
    for (const batch of batches)
      if (batch.sequences > 0)
        slowest = Math.max(slowest, engineUs(batch, prompt ? paddedTokens(batch.tokens) : most))
    const us = slowest + shape.layers * expertsUs(together)
    return constants.stepMs + (prompt ? constants.promptStepMs : 0) + us / 1000
  }

  return {
    stepMs,
    promptMs(tokens) {
      clearBatch(single)
      addToBatch(single, tokens, 0)
      return stepMs([single])
    },
    paddedTokens: (batch) => paddedTokens(batch.tokens),
  }
}
