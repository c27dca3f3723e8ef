/**
 * @module
 * What the GPUs of an engine say to each other in a step: how many calls, and how many bytes each GPU sends. A call costs a fixed time and its
 * bytes over a bandwidth; both constants are fitted, the counts are vLLM's.
 */
import type { EngineSettings } from './engine-settings.js'

/** Fixed time per call and bytes per microsecond, of one GPU in one direction. */
export interface CollectiveConstants {
  readonly collectiveUs: number
  readonly collectiveBytesPerUs: number
}

export function collectivesUs(
  constants: CollectiveConstants,
  calls: number,
  bytes: number,
): number {
  return constants.collectiveUs * calls + bytes / constants.collectiveBytesPerUs
}

/** An all-reduce after attention and one after the feed-forward of each layer, one for the embedding, and a gather of the logits. */
export function tensorParallelCalls({ tensorParallel, shape }: EngineSettings): number {
  return tensorParallel === 1 ? 0 : 2 * shape.layers + 2
}

/**
 * A ring sends 2 (n - 1) / n of an all-reduced tensor from each of n GPUs, and (n - 1) / n of a gathered one. Activations and logits have
 * two bytes a value; logits have a row per sequence.
 */
export function tensorParallelBytes(
  { tensorParallel, shape }: EngineSettings,
  tokens: number,
  sequences: number,
): number {
  const others = (tensorParallel - 1) / tensorParallel
  const reduced = (2 * shape.layers + 1) * tokens * shape.hidden * 2
  return others * (2 * reduced + sequences * shape.vocabulary * 2)
}

/** Per layer, data-parallel engines gather every token's state and router logits, and scatter the sums of their experts. */
export const EXCHANGE_CALLS = 3

/** Bytes per layer, for all engines' `tokens` together. */
export function exchangeBytes({ dataParallel, shape }: EngineSettings, tokens: number): number {
  const others = (dataParallel - 1) / dataParallel
  return others * tokens * 2 * (2 * shape.hidden + shape.experts)
}
