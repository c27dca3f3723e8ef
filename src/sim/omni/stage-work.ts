/**
 * @module
 * What a step of the shared stage and a unit of the downstream stage ask of the GPU, by roofline: arithmetic over the rate of the
 * tensor cores, bytes over the bandwidth, whichever is longer. Written into a record that is reused.
 */
import type { GpuWork } from './co-running.js'
import type { OmniSpec } from './spec.js'

/** A batch of the shared stage. */
export interface SharedBatch {
  prefillTokens: number
  /** Sum over prefilled tokens of the tokens each attends to. */
  attendedPairs: number
  decodeRequests: number
  /** Tokens of KV cache read by the decoding requests. */
  kvTokens: number
  encodeTflop: number
}

/** Weights are read once per step in two bytes each; a billion of them are 2 GB and 2 GFLOP per token. @hot */
export function sharedWork(spec: OmniSpec, batch: SharedBatch, out: GpuWork): void {
  const { billionWeights, attentionWidth, kvBytesPerToken } = spec.shared
  const tokens = batch.prefillTokens + batch.decodeRequests
  const tflop =
    (tokens * 2 * billionWeights) / 1000 +
    (4 * attentionWidth * (batch.attendedPairs + batch.kvTokens)) / 1e12 +
    batch.encodeTflop
  out.computeMs = tflop / spec.tflopPerMs
  out.memoryMs = (2 * billionWeights + (batch.kvTokens * kvBytesPerToken) / 1e9) / spec.gbPerMs
}

/** A batch shares the weights it streams; its arithmetic adds up. @hot */
export function downstreamWork(spec: OmniSpec, requests: number, out: GpuWork): void {
  out.computeMs = (spec.downstream.tflopPerUnit * requests) / spec.tflopPerMs
  out.memoryMs = spec.downstream.gbPerUnit / spec.gbPerMs
}
