/**
 * @module
 * What one step of one engine runs, as far as its price and its effects need it. Filled by the scheduler, read by the price; two of
 * them alternate, because one step is scheduled while another runs.
 */
export interface Batch {
  /** Requests that get a token when the step ends, in the order scheduled. */
  readonly producers: Int32Array
  producerCount: number
  /** The tick of the decode cohort in this step, -1 for none; its members get a token too. */
  tick: number
  /** Tokens of every request in the step. */
  tokens: number
  /** Requests in the step; each takes a row of the logits. */
  sequences: number
  /** Requests that run one token, and their contexts (that token included). */
  decodes: number
  contextSum: number
  contextMax: number
  contextMin: number
  /** Prefill chunks: tokens and the context that each continues. */
  chunks: number
  readonly chunkTokens: Int32Array
  readonly chunkHistory: Int32Array
}

/** Above any context, and a small integer, which keeps the field one. */
const NO_CONTEXT = 2 ** 30 - 1

export function createBatch(maxSeqs: number): Batch {
  return {
    producers: new Int32Array(maxSeqs),
    producerCount: 0,
    tick: -1,
    tokens: 0,
    sequences: 0,
    decodes: 0,
    contextSum: 0,
    contextMax: 0,
    contextMin: 0,
    chunks: 0,
    chunkTokens: new Int32Array(maxSeqs),
    chunkHistory: new Int32Array(maxSeqs),
  }
}

export function clearBatch(batch: Batch): void {
  batch.producerCount = 0
  batch.tick = -1
  batch.tokens = 0
  batch.sequences = 0
  batch.decodes = 0
  batch.contextSum = 0
  batch.contextMax = 0
  batch.contextMin = NO_CONTEXT
  batch.chunks = 0
}

/** Adds a request that computes `tokens` tokens after `computed` others. */
export function addToBatch(batch: Batch, tokens: number, computed: number): void {
  batch.tokens += tokens
  batch.sequences++
  if (tokens === 1) {
    const context = computed + 1
    batch.decodes++
    batch.contextSum += context
    if (context > batch.contextMax) batch.contextMax = context
    if (context < batch.contextMin) batch.contextMin = context
    return
  }
  batch.chunkTokens[batch.chunks] = tokens
  batch.chunkHistory[batch.chunks] = computed
  batch.chunks++
}
