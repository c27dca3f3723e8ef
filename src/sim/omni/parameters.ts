/**
 * @module
 * Every number of the simulated omni runtime, each with the range it may lie in and where it comes from. Nothing here was chosen
 * by looking at SLO attainment, or at any latency under load: sources are data sheets, model cards, arithmetic, public
 * measurements of one request alone, and figures 2 and 4 of the HorizonServe paper (arXiv:2608.01785), which are inputs of the model.
 * Figure 4 names neither GPU nor model: only its ratios are used. A later edit is a dated bug fix.
 *
 * Log of edits:
 * - 2026-12-01: the hand-over between stages, and host time that grows with the answer, became parameters. Their values are what the
 *   model did before (`free`, 0), so that no earlier number changes; `identify` runs the other values as worlds of their own.
 */

/** A number of the model. `low` and `high` bound what the sources allow. */
export interface Parameter {
  readonly value: number
  readonly low: number
  readonly high: number
  readonly source: string
}

const p = (value: number, low: number, high: number, source: string): Parameter =>
  Object.freeze({ value, low, high, source })
const fixed = (value: number, source: string): Parameter => p(value, value, value, source)

/** One GPU. Rates are those of the whole device. */
export interface GpuParameters {
  readonly totalSms: Parameter
  readonly memoryGb: Parameter
  readonly bandwidthGbs: Parameter
  /** Dense bf16 tensor throughput. */
  readonly tflops: Parameter
}

const sheet = (gpu: string): string => `${gpu} data sheet`
const paper2 = 'paper, table 2'

export const GPUS = {
  'rtx-6000-ada': {
    totalSms: fixed(142, paper2),
    memoryGb: fixed(48, paper2),
    bandwidthGbs: fixed(960, paper2),
    tflops: p(364, 330, 364, `${sheet('RTX 6000 Ada')}: 1457 TFLOPS fp8 sparse / 4`),
  },
  'rtx-pro-6000': {
    totalSms: fixed(188, paper2),
    memoryGb: fixed(96, paper2),
    bandwidthGbs: fixed(1792, paper2),
    tflops: p(503, 440, 503, `${sheet('RTX PRO 6000')}: 4030 TOPS fp4 sparse / 8`),
  },
  h200: {
    totalSms: fixed(132, sheet('H200 SXM')),
    memoryGb: fixed(141, sheet('H200 SXM')),
    bandwidthGbs: fixed(4800, sheet('H200 SXM')),
    tflops: p(989, 800, 989, `${sheet('H200 SXM')}, dense bf16`),
  },
} as const satisfies Record<string, GpuParameters>
export type GpuName = keyof typeof GPUS

/** How much of a data sheet's rate kernels reach. */
export const EFFICIENCY = {
  compute: p(
    0.5,
    0.35,
    0.7,
    'large bf16 matrix products in serving engines reach 35 to 70 % of peak',
  ),
  bandwidth: p(0.8, 0.6, 0.92, 'streaming weights in decode reaches 60 to 92 % of peak'),
} as const

/** What sharing the GPU costs, as ratios. SM fractions of figure 4 are of its 120 SMs. */
export const SHARING = {
  /** Memory-bound step time against the SM fraction held, relative to its best (at 80/120). */
  memoryTimeBySmFraction: [
    [8 / 120, p(1.82, 1.4, 8, 'figure 4b: "decode +82%" between the ticks 8 and 57 (our reading)')],
    [57 / 120, p(1.04, 1.0, 1.1, 'figure 4b: saturation starts at tick 57')],
    [64 / 120, p(4.8 / 4.65, 1.0, 1.1, 'figure 4b: 4.80 against 4.65 ms')],
    [80 / 120, fixed(1, 'figure 4b: the best, 4.65 ms')],
    [1, p(5.57 / 4.65, 1.0, 1.25, 'figure 4b: 5.57 against 4.65 ms')],
  ],
  /** First response while co-running with every SM, relative to 80/120, downstream always on the GPU. */
  fullAllocationPenalty: p(94.2 / 43.3, 1.0, 2.4, 'figure 4b: 94.2 against 43.3 ms'),
  /** Below this SM fraction the penalty is gone; it rises linearly to full allocation. */
  penaltyStartsAt: p(80 / 120, 0.6, 0.8, 'figure 4b: the lowest co-running TTFT, 80 of 120'),
  /** Time slicing: two processes on the GPU at once take turns; each turn costs this much more. */
  timeSliceSwitch: p(0.05, 0, 0.2, 'assumption: context switch of 0.1 ms per 2 ms slice'),
  /** NVML renews its utilisation this often. */
  pressurePeriodMs: p(1000 / 6, 1000 / 6, 1000, 'NVML: sample period of 1/6 to 1 s by product'),
} as const

/** What a long-path request does with its shared-stage place between its last token and the next stage. */
export const HAND_OVERS = ['free', 'until-accepted', 'until-done'] as const
export type HandOverMechanism = (typeof HAND_OVERS)[number]

/** The hand-over between the stages. */
export const HAND_OVER = {
  /** Place in `HAND_OVERS`. */
  mechanism: fixed(
    0,
    '0 free: vLLM-Omni 0.16.0 and 0.30.0 without KV transfer forward a request when its last token is out (read in 0.16.0, tried on 0.30.0). ' +
      '1 until-accepted: paper, section 4.3, "occupying shared-stage slots"; a bounded connector. ' +
      '2 until-done: blocks freed after the transfer alone (BAGEL, need_send_cache), the transfer being part of the next stage',
  ),
  /** Requests that fit between the stages beside those in downstream places; only `until-accepted` asks. */
  queuePlaces: fixed(0, 'assumption: no queue between the stages; a connector of one buffer is 1'),
} as const

/** One model: the shared stage, its encoders, its downstream stage. */
export interface ModelParameters {
  /** `input` to `output`, as the paper writes classes: t2t, a2a, … */
  readonly classes: readonly string[]
  readonly shared: {
    readonly billionWeights: Parameter
    readonly kvBytesPerToken: Parameter
    /** Layers times hidden width: prices the quadratic part of attention. */
    readonly attentionWidth: Parameter
    /** Host time of one engine step: scheduling, launches, sampling, hidden states to the next stage. */
    readonly hostMs: Parameter
    /** Host time of a step per token that its requests have decoded so far, ms: outputs that are handed on whole in each step. */
    readonly hostMsPerAnswerToken: Parameter
    readonly slots: Parameter
    readonly tokenBudget: Parameter
    /** GPU memory that is not KV cache: weights of all stages, activations. */
    readonly kvReserveGb: Parameter
    /** Shared-stage tokens decoded per text token of a long-path answer. */
    readonly tokensPerAnswerToken: Parameter
  }
  readonly inputs: {
    readonly tokensPerAudioSecond: Parameter
    readonly tokensPerImage: Parameter
    readonly tokensPerVideo: Parameter
    /** Encoder work in TFLOP. */
    readonly tflopPerAudioSecond: Parameter
    readonly tflopPerImage: Parameter
    readonly tflopPerVideo: Parameter
  }
  readonly downstream: {
    readonly slots: Parameter
    /** Units of work per text token of the answer (speech), or per request (images). */
    readonly unitsPerAnswerToken: Parameter
    readonly unitsPerRequest: Parameter
    /** One unit: host time, GPU compute and GPU memory traffic of a batch of one. */
    readonly hostMsPerUnit: Parameter
    readonly tflopPerUnit: Parameter
    readonly gbPerUnit: Parameter
    /** Share of the units after which the first response leaves. */
    readonly firstResponseAt: Parameter
  }
  /** Tokens of an answer on the long path; its law is lognormal with this mean. */
  readonly spokenAnswerTokens: Parameter
}

const slots4 =
  'figure 6 shows a shared-stage batch of 4; 0.16.0 ships 1 (max_batch_size of every stage), and the deploy files of 0.30.0 have 1 (qwen2_5_omni.yaml) to 64, a few more'
const host =
  'one request alone: 34 ms per thinker token (vllm-omni#602), 20.7 ms between tokens (vllm-omni#780), roofline taken off'
const grows =
  'vllm-omni 0.16.0 passes the whole output of a step through Python queues; how much that costs is not known: 0 to 0.2'
const flops = (what: string): string => `arithmetic: ${what}`
const atOnce = 'vllm-omni#696: audio was not streamed then; 0.02 would be streaming'
const secondsPerToken = 'speech at 150 words a minute, 1.33 tokens a word: 0.3 s per token'

export const MODELS = {
  'qwen2.5-omni': {
    classes: ['t2t', 'a2t', 'i2t', 'v2t', 't2a', 'a2a', 'i2a', 'v2a'],
    shared: {
      billionWeights: p(7.1, 6.5, 7.6, 'Qwen2.5-7B backbone without the embedding table'),
      kvBytesPerToken: fixed(57_344, flops('28 layers, 4 KV heads of 128, bf16, keys and values')),
      attentionWidth: fixed(100_352, flops('28 layers x 3,584')),
      hostMs: p(20, 2, 35, host),
      hostMsPerAnswerToken: fixed(0, grows),
      slots: p(4, 1, 64, slots4),
      tokenBudget: p(2048, 2048, 32_768, 'vLLM: default budget of a chunked prefill step'),
      kvReserveGb: p(30, 25, 40, flops('thinker 18 GB, talker and vocoder 5 GB, activations')),
      tokensPerAnswerToken: fixed(1, 'the thinker writes the text, the talker speaks it'),
    },
    inputs: {
      tokensPerAudioSecond: fixed(25, 'Qwen2.5-Omni report: one audio token per 40 ms'),
      tokensPerImage: p(334, 256, 1300, flops('Food-101, 512 px a side, patches of 28 px merged')),
      tokensPerVideo: p(
        690,
        300,
        2000,
        flops('UCF-101, 320 x 240, 7 s at 2 frames/s, pairs merged'),
      ),
      tflopPerAudioSecond: p(0.064, 0.05, 0.1, flops('2 x 0.64 G weights x 50 frames')),
      tflopPerImage: p(1.8, 1, 5, flops('2 x 0.67 G weights x 1,340 patches')),
      tflopPerVideo: p(3.7, 2, 10, flops('2 x 0.67 G weights x 2,760 patches')),
    },
    downstream: {
      slots: p(4, 1, 16, slots4),
      unitsPerAnswerToken: p(0.6, 0.4, 1, `${secondsPerToken}; a unit is half a second of speech`),
      unitsPerRequest: fixed(0, 'speech is as long as its text'),
      hostMsPerUnit: p(
        500,
        125,
        1250,
        '25 codec tokens of 20 ms (5 to 50; vllm-omni#602: 64 ms with 15 codebooks)',
      ),
      tflopPerUnit: p(
        1,
        0.3,
        4,
        flops('talker 2 x 1.4 G x 25, flow-matching vocoder 10 evaluations'),
      ),
      gbPerUnit: p(70, 50, 90, flops('talker 2.8 GB read for each of 25 codec tokens')),
      firstResponseAt: p(1, 0.02, 1, atOnce),
    },
    spokenAnswerTokens: p(46, 25, 203, 'figure 2: solo p95, long over short path, is 416'),
  },
  'mimo-audio': {
    classes: ['t2t', 'a2t', 't2a', 'a2a'],
    shared: {
      billionWeights: p(7.6, 7, 8.2, 'MiMo-7B backbone with its patch encoder'),
      kvBytesPerToken: fixed(147_456, flops('36 layers, 8 KV heads of 128, bf16, keys and values')),
      attentionWidth: fixed(147_456, flops('36 layers x 4,096')),
      hostMs: p(26, 4, 45, `${host}; and the local transformer of each audio patch`),
      hostMsPerAnswerToken: fixed(0, grows),
      slots: p(4, 1, 64, slots4),
      tokenBudget: p(2048, 2048, 32_768, 'vLLM: default budget of a chunked prefill step'),
      kvReserveGb: p(30, 25, 40, flops('backbone 16 GB, tokenizer decoder 2.4 GB, activations')),
      tokensPerAnswerToken: p(
        2.9,
        2,
        4,
        `${secondsPerToken}; 6.25 audio patches a second beside the text`,
      ),
    },
    inputs: {
      tokensPerAudioSecond: p(6.25, 6.25, 25, 'MiMo-Audio report: 25 Hz in patches of 4'),
      tokensPerImage: fixed(0, 'takes no images'),
      tokensPerVideo: fixed(0, 'takes no video'),
      tflopPerAudioSecond: p(0.06, 0.03, 0.12, flops('2 x 0.6 G encoder weights x 50 frames')),
      tflopPerImage: fixed(0, 'takes no images'),
      tflopPerVideo: fixed(0, 'takes no video'),
    },
    downstream: {
      slots: p(4, 1, 16, slots4),
      unitsPerAnswerToken: p(0.6, 0.4, 1, `${secondsPerToken}; a unit is half a second of speech`),
      unitsPerRequest: fixed(0, 'speech is as long as its text'),
      hostMsPerUnit: p(40, 5, 100, 'assumption: two launches of the tokenizer decoder per second'),
      tflopPerUnit: p(4, 1, 12, flops('0.6 G decoder and vocoder at up to 100 Hz, non-causal')),
      gbPerUnit: p(24, 5, 60, flops('decoder weights and activations, about 10 passes')),
      firstResponseAt: p(1, 0.02, 1, atOnce),
    },
    spokenAnswerTokens: p(118, 40, 300, 'figure 2: solo p95, long over short path, is 348'),
  },
  bagel: {
    classes: ['t2t', 'i2t', 't2i', 'i2i'],
    shared: {
      billionWeights: p(7, 6.5, 7.6, 'BAGEL report: 7 B active of 14 B'),
      kvBytesPerToken: fixed(57_344, flops('28 layers, 4 KV heads of 128, bf16, keys and values')),
      attentionWidth: fixed(100_352, flops('28 layers x 3,584')),
      hostMs: p(20, 2, 35, host),
      hostMsPerAnswerToken: fixed(0, grows),
      slots: p(4, 1, 64, slots4),
      tokenBudget: p(8192, 2048, 32_768, 'an image of 4,900 tokens is prefilled at once'),
      kvReserveGb: p(36, 30, 44, flops('14 B weights 28 GB, encoders, VAE, activations')),
      tokensPerAnswerToken: fixed(0, 'no text is decoded before an image'),
    },
    inputs: {
      tokensPerAudioSecond: fixed(0, 'takes no audio'),
      tokensPerImage: p(4900, 1369, 8996, 'BAGEL report: up to 980 px a side, patches of 14 px'),
      tokensPerVideo: fixed(0, 'takes no video'),
      tflopPerAudioSecond: fixed(0, 'takes no audio'),
      tflopPerImage: p(7, 3, 12, flops('SigLIP 0.4 G weights x 4,900 patches with full attention')),
      tflopPerVideo: fixed(0, 'takes no video'),
    },
    downstream: {
      slots: p(
        1,
        1,
        4,
        'vllm-omni#6359: images were made one complete request at a time before it',
      ),
      unitsPerAnswerToken: fixed(0, 'an image is as long as its steps'),
      unitsPerRequest: p(50, 20, 50, 'BAGEL: 50 denoising steps by default'),
      hostMsPerUnit: p(10, 2, 30, 'assumption: launches of 28 layers'),
      tflopPerUnit: p(
        22.9,
        14.3,
        172,
        flops('512 x 512 px: 2 x 7 G x 1,024 latents x 1.6 guidance passes (figure 2: ratio 15)'),
      ),
      gbPerUnit: p(22.4, 14, 42, flops('14 GB of weights for each of 1.6 passes')),
      firstResponseAt: fixed(1, 'the metric of image requests is end to end'),
    },
    spokenAnswerTokens: fixed(1, 'no text is decoded before an image'),
  },
} as const satisfies Record<string, ModelParameters>
export type ModelName = keyof typeof MODELS
