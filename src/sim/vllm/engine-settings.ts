/**
 * @module
 * The settings of a real run, read from its metadata file; where a field is absent, the default of vLLM 0.19 holds.
 */
import { HorizonError } from '../../core/errors.js'
import { type ModelShape, modelShape } from './model-shape.js'

export interface EngineSettings {
  readonly model: string
  readonly shape: ModelShape
  /** GPU name where the metadata gives one. */
  readonly gpu: string | undefined
  readonly tensorParallel: number
  readonly dataParallel: number
  readonly expertParallel: boolean
  /** Requests running at once, per data-parallel engine. */
  readonly maxSeqs: number
  /** Token budget of a step, per data-parallel engine. */
  readonly maxBatchedTokens: number
  readonly maxModelLen: number
  readonly blockSize: number
  /** Blocks of context per data-parallel engine; `undefined` where the metadata does not say. */
  readonly blocks: number | undefined
  readonly prefixCaching: boolean
  /** The next step is scheduled and launched while one is running. */
  readonly asyncScheduling: boolean
  /** A waiting request is admitted only if its whole prompt fits. */
  readonly reserveFullPrompt: boolean
  /** Batch sizes that decode graphs were captured for, ascending. */
  readonly graphSizes: readonly number[]
}

/** Reads a parsed metadata file; `file` names it in errors. */
export function engineSettings(meta: unknown, file: string): EngineSettings {
  const root = record(meta, file, '')
  const kwargs = record(root.engine_kwargs, file, 'engine_kwargs')
  const resolved = optionalRecord(root.resolved_config)
  const scheduler = optionalRecord(resolved?.scheduler_config)
  const cache = optionalRecord(root.kv_cache)
  const compilation = optionalRecord(resolved?.compilation_config)
  const hardware = optionalRecord(root.hardware)
  const model = kwargs.model
  if (typeof model !== 'string') {
    throw new HorizonError('ERR_SIM_META', 'no model named', {
      field: `${file} engine_kwargs.model`,
      expected: 'a string',
      got: model,
    })
  }
  const count = (value: unknown, field: string, fallback: number): number => {
    if (value === undefined || value === null) return fallback
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
      throw new HorizonError('ERR_SIM_META', 'bad setting', {
        field: `${file} ${field}`,
        expected: 'a positive integer',
        got: value,
      })
    }
    return value
  }
  const maxSeqs = count(kwargs.max_num_seqs, 'engine_kwargs.max_num_seqs', 256)
  const blocks = count(cache?.num_gpu_blocks, 'kv_cache.num_gpu_blocks', 0)
  const captured = compilation?.cudagraph_capture_sizes
  return {
    model,
    shape: modelShape(model),
    gpu: typeof hardware?.device_name === 'string' ? hardware.device_name : undefined,
    tensorParallel: count(kwargs.tensor_parallel_size, 'engine_kwargs.tensor_parallel_size', 1),
    dataParallel: count(kwargs.data_parallel_size, 'engine_kwargs.data_parallel_size', 1),
    expertParallel: kwargs.enable_expert_parallel === true,
    maxSeqs,
    maxBatchedTokens: count(
      kwargs.max_num_batched_tokens,
      'engine_kwargs.max_num_batched_tokens',
      2048,
    ),
    maxModelLen: count(kwargs.max_model_len, 'engine_kwargs.max_model_len', 131_072),
    blockSize: count(cache?.block_size, 'kv_cache.block_size', 16),
    blocks: blocks === 0 ? undefined : blocks,
    prefixCaching: cache?.enable_prefix_caching !== false,
    asyncScheduling: scheduler?.async_scheduling !== false,
    reserveFullPrompt: scheduler?.scheduler_reserve_full_isl !== false,
    graphSizes: Array.isArray(captured)
      ? captured.filter((size): size is number => typeof size === 'number').sort((a, b) => a - b)
      : defaultGraphSizes(maxSeqs),
  }
}

/** vLLM 0.19 captures 1, 2, 4, then every 8 up to 256, then every 16, up to twice the batch and at most 512. */
function defaultGraphSizes(maxSeqs: number): number[] {
  const largest = Math.min(2 * maxSeqs, 512)
  const sizes = [1, 2, 4].filter((size) => size <= largest)
  for (let size = 8; size <= Math.min(largest, 255); size += 8) sizes.push(size)
  for (let size = 256; size <= largest; size += 16) sizes.push(size)
  return sizes
}

function record(value: unknown, file: string, field: string): Record<string, unknown> {
  const found = optionalRecord(value)
  if (found === undefined) {
    throw new HorizonError('ERR_SIM_META', 'not a metadata file', {
      field: `${file} ${field}`.trim(),
      expected: 'an object',
      got: value,
    })
  }
  return found
}

function optionalRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}
