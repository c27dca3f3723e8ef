/**
 * @module
 * Sets the steps of a real run beside their prices. From the numbered timeline the batch of every step is known exactly: who decodes, at what
 * context, and which prompt chunks run, by the scheduler's own rule. Between two stamps lie a known number of steps and a measured time.
 */
import { addToBatch, type Batch, clearBatch, createBatch } from './batch.js'
import type { RecordedRequest } from './recorded-run.js'
import type { StepPrice } from './step-price.js'
import type { StepTimeline } from './step-timeline.js'

/** The steps between two consecutive stamps. */
export interface StepInterval {
  readonly endMs: number
  readonly steps: number
  readonly realMs: number
  readonly priceMs: number
  /** Tokens of all its steps, as the dense kernels see them, and sequences. */
  readonly paddedTokens: number
  readonly sequences: number
  /** Steps among them with a prompt chunk. */
  readonly promptSteps: number
  /** Requests whose first token ends the interval. */
  readonly firsts: readonly number[]
  /** Largest number of decodes in a step. */
  readonly decodes: number
}

export interface ResidualOptions {
  readonly maxBatchedTokens: number
  /** Prompt tokens of each request that were in the cache and not computed. */
  readonly cachedTokens?: ArrayLike<number>
}

export function stepIntervals(
  run: readonly RecordedRequest[],
  timeline: StepTimeline,
  price: StepPrice,
  options: ResidualOptions,
): StepInterval[] {
  const { stamps, firstStep } = timeline
  const from = (stamps[0] as { step: number }).step
  const count = (stamps[stamps.length - 1] as { step: number }).step - from + 1
  const lastStep = firstStep.map((step, i) => step + (run[i] as RecordedRequest).outputTokens - 1)
  const decodes = new Int32Array(count)
  for (let i = 0; i < run.length; i++)
    for (
      let step = Math.max(from, (firstStep[i] as number) + 1);
      step <= (lastStep[i] as number) && step < from + count;
      step++
    )
      decodes[step - from] = (decodes[step - from] as number) + 1
  const chunks = placeChunks(run, firstStep, from, decodes, options)
  const batch = createBatch(Math.max(64, ...decodes) + run.length)
  const intervals: StepInterval[] = []
  let next = from + 1
  for (let s = 1; s < stamps.length; s++) {
    const { ms, step } = stamps[s] as { ms: number; step: number }
    const before = stamps[s - 1] as { ms: number; step: number }
    let priceMs = 0
    let paddedTokens = 0
    let sequences = 0
    let promptSteps = 0
    let most = 0
    for (; next <= step; next++) {
      fillBatch(batch, run, firstStep, lastStep, next, chunks[next - from] ?? [])
      priceMs += price.stepMs([batch])
      paddedTokens += price.paddedTokens(batch)
      sequences += batch.sequences
      if (batch.chunks > 0) promptSteps++
      most = Math.max(most, batch.decodes)
    }
    const firsts: number[] = []
    for (let i = 0; i < run.length; i++) if (firstStep[i] === step) firsts.push(i)
    intervals.push({
      endMs: ms,
      steps: step - before.step,
      realMs: ms - before.ms,
      priceMs,
      paddedTokens,
      sequences,
      promptSteps,
      firsts,
      decodes: most,
    })
  }
  return intervals
}

interface Chunk {
  readonly tokens: number
  readonly history: number
}

/** Prompts end in the step of their first token; what does not fit there ran in the steps before, first come first served. */
function placeChunks(
  run: readonly RecordedRequest[],
  firstStep: Int32Array,
  from: number,
  decodes: Int32Array,
  options: ResidualOptions,
): Chunk[][] {
  const chunks: Chunk[][] = Array.from({ length: decodes.length }, () => [])
  const room = Int32Array.from(decodes, (n) => options.maxBatchedTokens - n)
  for (let i = run.length - 1; i >= 0; i--) {
    const cached = options.cachedTokens?.[i] ?? 0
    let left = (run[i] as RecordedRequest).promptTokens - cached
    for (let k = (firstStep[i] as number) - from; left > 0 && k >= 0; k--) {
      const tokens = Math.min(left, room[k] ?? 0)
      if (tokens <= 0) continue
      left -= tokens
      room[k] = (room[k] as number) - tokens
      chunks[k]?.unshift({ tokens, history: cached + left })
    }
  }
  return chunks
}

function fillBatch(
  batch: Batch,
  run: readonly RecordedRequest[],
  firstStep: Int32Array,
  lastStep: Int32Array,
  step: number,
  chunks: readonly Chunk[],
): void {
  clearBatch(batch)
  for (let i = 0; i < run.length; i++) {
    const first = firstStep[i] as number
    if (step > first && step <= (lastStep[i] as number))
      addToBatch(batch, 1, (run[i] as RecordedRequest).promptTokens + step - first - 1)
  }
  for (const chunk of chunks) addToBatch(batch, chunk.tokens, chunk.history)
}
