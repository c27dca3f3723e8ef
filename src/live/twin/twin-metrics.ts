/**
 * @module
 * The twin's metrics page: the names of vLLM and vLLM-Omni 0.30.0, as far as they mean something here, and those of our own contract.
 */
import { type EndpointOutlook, type EndpointSample, endpointGauges } from '../../policies/index.js'
import type { TwinEngine } from './engine.js'
import type { TwinSpec } from './twin-spec.js'

/** What pickers are told. */
export interface TwinOutlook {
  readonly outlook: EndpointOutlook
  readonly sample: EndpointSample
}

/** Sums of what was answered, per class of the spec. */
export interface ClassTally {
  finished: number
  aborted: number
  firstResponses: number
  firstResponseSumMs: number
  met: number
  inFlight: number
}

export interface TwinTallies {
  readonly classes: readonly ClassTally[]
  promptTokens: number
  generationTokens: number
  audioSeconds: number
  images: number
  failed: number
  rejected: number
  e2eSumMs: number
}

export function createTallies(classes: number): TwinTallies {
  return {
    classes: Array.from({ length: classes }, () => ({
      finished: 0,
      aborted: 0,
      firstResponses: 0,
      firstResponseSumMs: 0,
      met: 0,
      inFlight: 0,
    })),
    promptTokens: 0,
    generationTokens: 0,
    audioSeconds: 0,
    images: 0,
    failed: 0,
    rejected: 0,
    e2eSumMs: 0,
  }
}

/** What a class's requests look like when nobody says more: also the sizes that the twin lists for `load`. */
export function usualRequest(spec: TwinSpec, classIndex: number) {
  const { output, inputs } = spec.classes[classIndex] as TwinSpec['classes'][number]
  return {
    classIndex,
    promptTokens: output === 'image' || inputs[0] !== 'text' ? 32 : 128,
    answerTokens: output === 'text' ? 24 : output === 'audio' ? spec.omni.spokenAnswerTokens : 1,
    audioSeconds: inputs[0] === 'audio' ? 5 : 0,
    images: inputs[0] === 'image' ? 1 : 0,
    videos: inputs[0] === 'video' ? 1 : 0,
  }
}

export function twinMetricsText(
  spec: TwinSpec,
  engine: TwinEngine,
  tallies: TwinTallies,
  { outlook, sample }: TwinOutlook,
): string {
  const out: string[] = []
  const model = `model_name="${spec.name.replace(/[\\"\n]/g, '_')}"`
  const metric = (
    name: string,
    type: 'gauge' | 'counter',
    help: string,
    values: readonly (readonly [string, number])[],
  ): void => {
    out.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    for (const [labels, value] of values) {
      if (Number.isFinite(value)) out.push(`${name}${labels === '' ? '' : `{${labels}}`} ${value}`)
    }
  }
  const sum = (of: (tally: ClassTally) => number): number =>
    tallies.classes.reduce((total, tally) => total + of(tally), 0)
  const stage0 = `${model},stage="0",replica="0"`
  const stage1 = `${model},stage="1",replica="0"`
  metric('vllm:num_requests_running', 'gauge', 'Requests in model execution batches.', [
    [stage0, engine.numRunning],
    [stage1, engine.downstreamRunning],
  ])
  metric('vllm:num_requests_waiting', 'gauge', 'Requests waiting to be processed.', [
    [stage0, engine.waiting],
    [stage1, engine.downstreamQueued],
  ])
  metric('vllm:kv_cache_usage_perc', 'gauge', 'KV-cache usage, 1 is full.', [
    [stage0, engine.kvFraction],
  ])
  metric('vllm:num_preemptions_total', 'counter', 'Preemptions.', [[stage0, engine.preemptions]])
  metric('vllm:prompt_tokens_total', 'counter', 'Prefill tokens.', [[stage0, tallies.promptTokens]])
  metric('vllm:generation_tokens_total', 'counter', 'Generated tokens.', [
    [stage0, tallies.generationTokens],
  ])
  metric('vllm_omni:num_requests_running', 'gauge', 'Requests in a stage.', [
    [model, engine.numRunning + engine.downstreamRunning],
  ])
  metric('vllm_omni:num_requests_waiting', 'gauge', 'Requests waiting for a stage.', [
    [model, engine.waiting + engine.downstreamQueued],
  ])
  metric('vllm_omni:requests_success_total', 'counter', 'Requests answered.', [
    [`${model},finished_reason="stop"`, sum((of) => of.finished)],
    [`${model},finished_reason="abort"`, sum((of) => of.aborted)],
  ])
  metric('vllm_omni:requests_failed_total', 'counter', 'Requests refused or failed.', [
    [`${model},reason="refused"`, tallies.failed],
    [`${model},reason="shed"`, tallies.rejected],
  ])
  metric('vllm_omni:prompt_tokens_total', 'counter', 'Prompt tokens.', [
    [model, tallies.promptTokens],
  ])
  metric('vllm_omni:generation_tokens_total', 'counter', 'Generated tokens.', [
    [model, tallies.generationTokens],
  ])
  metric('vllm_omni:e2e_request_latency_s_sum', 'counter', 'Sum of end-to-end latencies.', [
    [model, tallies.e2eSumMs / 1000],
  ])
  metric('vllm_omni:e2e_request_latency_s_count', 'counter', 'End-to-end latencies.', [
    [model, sum((of) => of.finished)],
  ])
  metric('vllm_omni:audio_duration_s_sum', 'counter', 'Seconds of sound made.', [
    [stage1, tallies.audioSeconds],
  ])
  metric('vllm_omni:image_count_total', 'counter', 'Images made.', [[stage1, tallies.images]])

  outlook.read(sample)
  const { names, sloMs, path } = engine.horizon.classes
  const contract = endpointGauges(names, sloMs, sample, path)
  metric('horizonserve_first_responses_total', 'counter', 'First responses.', [
    ['', sum((of) => of.firstResponses)],
    ...spec.classes.map(
      ({ name }, i) => [`class="${name}"`, tallies.classes[i]?.firstResponses ?? 0] as const,
    ),
  ])
  metric('horizonserve_first_responses_met_total', 'counter', 'First responses within their SLO.', [
    ['', sum((of) => of.met)],
    ...spec.classes.map(
      ({ name }, i) => [`class="${name}"`, tallies.classes[i]?.met ?? 0] as const,
    ),
  ])
  metric(
    'horizonserve_first_response_ms_total',
    'counter',
    'Sum of first-response latencies, ms.',
    [
      ['', sum((of) => of.firstResponseSumMs)],
      ...spec.classes.map(
        ({ name }, i) => [`class="${name}"`, tallies.classes[i]?.firstResponseSumMs ?? 0] as const,
      ),
    ],
  )
  metric('horizonserve_cap_sms', 'gauge', 'SMs the shared stage may use.', [
    ['', engine.horizon.decision.capSms],
  ])
  return `${out.join('\n')}\n${contract}`
}
