/**
 * @module
 * Stage times of one request, in the shape vLLM-Omni 0.30.0 answers `return_stage_metrics` with.
 */
import type { RowTimes, TwinRequest } from './request-row.js'
import { SAMPLE_RATE_HZ, SECONDS_PER_UNIT } from './speech-samples.js'

export function stageMetrics(
  times: RowTimes,
  request: TwinRequest,
  output: 'text' | 'audio' | 'image',
  decoded: number,
  units: number,
): Record<string, unknown> {
  const { arrivedMs, admittedMs, firstTokenMs, decodedMs, downstreamStartMs, finishedMs } = times
  const stages: Record<string, unknown> = {
    0: {
      stage_name: 'thinker',
      final_output_type: 'text',
      num_tokens_in: request.promptTokens,
      num_tokens_out: decoded,
      queue_time_ms: admittedMs - arrivedMs,
      stage_gen_time_ms: decodedMs - admittedMs,
      vllm_ttft_ms: firstTokenMs - arrivedMs,
      vllm_tpot_ms: decoded > 1 ? (decodedMs - firstTokenMs) / (decoded - 1) : 0,
      serving_time_to_first_output_ms: firstTokenMs - arrivedMs,
    },
  }
  if (output === 'text') return { stage_metrics: stages }
  const first = times.firstResponseMs - arrivedMs
  stages[1] = {
    stage_name: output === 'audio' ? 'talker' : 'dit',
    final_output_type: output,
    queue_time_ms: downstreamStartMs - decodedMs,
    stage_gen_time_ms: finishedMs - downstreamStartMs,
    serving_time_to_first_output_ms: first,
    output_unit_type: output === 'audio' ? 'audio_chunk' : 'image',
    output_unit_count: output === 'audio' ? units : 1,
    time_per_output_unit_ms: (finishedMs - downstreamStartMs) / (output === 'audio' ? units : 1),
    ...(output === 'audio'
      ? {
          audio_sample_rate: SAMPLE_RATE_HZ,
          audio_duration_s: units * SECONDS_PER_UNIT,
          audio_frames: units * SECONDS_PER_UNIT * SAMPLE_RATE_HZ,
        }
      : {
          image_time_to_first_output_ms: first,
          denoise_step_latency_ms: (finishedMs - downstreamStartMs) / units,
        }),
  }
  return { stage_metrics: stages }
}
