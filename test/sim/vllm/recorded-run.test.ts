import { describe, expect, it } from 'vitest'
import { engineSettings } from '../../../src/sim/vllm/engine-settings.js'
import { errorSummary, metricError, percentile } from '../../../src/sim/vllm/error-summary.js'
import { parseRecordedRun, replayRequests } from '../../../src/sim/vllm/recorded-run.js'
import { createRequestTable } from '../../../src/sim/vllm/request-table.js'

const row = {
  request_id: 'a',
  input_toks: 10,
  output_toks: 3,
  arrival_time: 1000.5,
  queued_ts: 7,
  scheduled_ts: 7.25,
  first_token_ts: 8,
  last_token_ts: 9,
}
const line = (changes: Record<string, unknown>): string => JSON.stringify({ ...row, ...changes })

describe('recorded run', () => {
  it('puts both clocks on one scale by the smallest gap between arriving and being queued', () => {
    const text = [
      line({}),
      line({ request_id: 'b', arrival_time: 1001, queued_ts: 7.9, scheduled_ts: 7.9 }),
    ].join('\n')
    const run = parseRecordedRun(text, 'r.jsonl')
    expect(run.map((r) => Math.round(r.readyMs))).toEqual([0, 500])
    expect(run.map((r) => Math.round(r.queuedMs))).toEqual([0, 900])
    expect(run[0]?.scheduledMs).toBeCloseTo(250, 9)
    expect(replayRequests(run).map((r) => Math.round(r.readyMs))).toEqual([0, 500])
  })

  it('starts at the queue where there is no arrival time', () => {
    const run = parseRecordedRun(line({ arrival_time: undefined }), 'r.jsonl')
    expect(run[0]?.readyMs).toBe(0)
  })

  it('takes a run that stamps scheduling anew after a preemption', () => {
    expect(parseRecordedRun(line({ scheduled_ts: 8.5 }), 'r.jsonl')[0]?.scheduledMs).toBe(1500)
  })

  it('names the line and the field of what is wrong', () => {
    const bad: [string, RegExp][] = [
      ['{', /r\.jsonl:2.*JSON/],
      ['[1]', /r\.jsonl:2.*object/],
      [line({ input_toks: 0 }), /r\.jsonl:2 input_toks.*positive/],
      [line({ output_toks: 1.5 }), /output_toks/],
      [line({ first_token_ts: null }), /first_token_ts.*finite/],
      [line({ last_token_ts: 7.5 }), /last_token_ts.*first_token_ts/],
    ]
    for (const [text, message] of bad)
      expect(() => parseRecordedRun(`${line({})}\n${text}`, 'r.jsonl')).toThrow(message)
    expect(() => parseRecordedRun('\n', 'r.jsonl')).toThrow(/no request/)
  })
})

describe('engine settings', () => {
  it('falls back to the defaults of vLLM 0.19', () => {
    const settings = engineSettings(
      { engine_kwargs: { model: 'Qwen/Qwen3-30B-A3B-Instruct-2507', data_parallel_size: 2 } },
      'm.json',
    )
    expect(settings).toMatchObject({
      dataParallel: 2,
      tensorParallel: 1,
      maxSeqs: 256,
      maxBatchedTokens: 2048,
      blockSize: 16,
      blocks: undefined,
      prefixCaching: true,
      asyncScheduling: true,
    })
    expect(settings.shape.experts).toBe(128)
    expect(settings.graphSizes.slice(0, 5)).toEqual([1, 2, 4, 8, 16])
    expect(settings.graphSizes.at(-1)).toBe(512)
    expect(settings.graphSizes).toHaveLength(51)
  })

  it('reads what the metadata says', () => {
    const settings = engineSettings(
      {
        engine_kwargs: { model: 'meta-llama/Llama-3.1-8B', max_num_seqs: 256 },
        kv_cache: { num_gpu_blocks: 2588, block_size: 16, enable_prefix_caching: false },
        resolved_config: {
          scheduler_config: { async_scheduling: false, scheduler_reserve_full_isl: false },
          compilation_config: { cudagraph_capture_sizes: [8, 1, 4] },
        },
      },
      'm.json',
    )
    expect(settings).toMatchObject({
      blocks: 2588,
      prefixCaching: false,
      asyncScheduling: false,
      reserveFullPrompt: false,
      graphSizes: [1, 4, 8],
    })
  })

  it('names the field of what is wrong', () => {
    expect(() => engineSettings([], 'm.json')).toThrow(/m\.json/)
    expect(() => engineSettings({ engine_kwargs: {} }, 'm.json')).toThrow(/engine_kwargs\.model/)
    expect(() => engineSettings({ engine_kwargs: { model: 'x/Unknown-7B' } }, 'm')).toThrow(/shape/)
    expect(() =>
      engineSettings({ engine_kwargs: { model: 'Qwen3-32B', max_num_seqs: -1 } }, 'm'),
    ).toThrow(/max_num_seqs/)
  })
})

describe('errors of a replay', () => {
  it('are signed percents of mean and percentiles', () => {
    expect(percentile([4, 1, 3, 2], 0.5)).toBe(2.5)
    const error = metricError([100, 200], [110, 190])
    expect(error.mean).toBeCloseTo(0, 12)
    expect(error.p99).toBeCloseTo((189.2 / 199 - 1) * 100, 9)
    expect(metricError([], []).mean).toBe(null)
  })

  it('start every clock where the engine takes the request in', () => {
    const run = parseRecordedRun(line({}), 'r.jsonl')
    const table = createRequestTable(replayRequests(run))
    table.queuedMs[0] = 50
    table.scheduledMs[0] = 50
    table.firstTokenMs[0] = 50 + 1100
    table.lastTokenMs[0] = 50 + 2300
    const errors = errorSummary(run, table)
    expect(errors.ttft.mean).toBeCloseTo(10, 9)
    expect(errors.e2e.mean).toBeCloseTo(15, 9)
    expect(errors.tpot.mean).toBeCloseTo(20, 9)
    expect(errors.mapePerRequest).toBeCloseTo(15, 9)
    // It waited a quarter of a second between queue and schedule.
    expect(errors.ttftUnqueued.requests).toBe(0)
  })
})
