/**
 * @module
 * What vLLM-Omni itself says of its pipelines: their stages, what each hands to whom, what leaves where. Written down from
 * the registry of the release named here by `test/engine/vllm_omni_registry.py`; the engine suite compares it with the one
 * that is installed.
 */

/** One stage of a registered pipeline. */
export interface RegisteredStage {
  readonly id: number
  readonly name: string
  /** `llm_ar`, `llm_generation` or `diffusion`. */
  readonly runs: string
  /** Stages whose output it needs; none for an entry. */
  readonly from: readonly number[]
  /** Modality that leaves the pipeline after this stage. */
  readonly output: string | undefined
  /** Whether it can hand over chunk by chunk. */
  readonly streams: boolean
}

export interface RegisteredPipeline {
  readonly stages: readonly RegisteredStage[]
  /** Deploy file that the engine takes when none is given. */
  readonly deploy: string | undefined
}

export const VLLM_OMNI_VERSION = '0.30.0'

/** One pipeline a line: name, deploy file, stages as `id:name:runs`, `<` its sources, `=` what leaves, `~` if it streams. */
const ROWS = `
Gr00tN1d7 Gr00tN1d7.yaml 0:diffusion:diffusion=actions
arktts audio8_tts.yaml 0:audio8_tts_slow_ar:llm_ar~ 1:audio8_tts_codec_decoder:llm_generation<0=audio
audex_s2s audex_s2s.yaml 0:audex_omni:llm_ar=text~ 1:audex_code2wav:llm_generation<0=audio
audex_thinker_only audex_thinker_only.yaml 0:audex_omni:llm_ar=text
audex_tta audex_tta.yaml 0:audex_tta_thinker:llm_ar 1:audex_xcodec:llm_generation<0=audio
audex_tts audex_tts.yaml 0:audex_thinker:llm_ar~ 1:audex_code2wav:llm_generation<0=audio
auk auk.yaml 0:encoder:llm_ar 1:dit:diffusion<0=audio
aura_omni aura_omni.yaml 0:asr:llm_ar 1:aura:llm_ar<0=text 2:qwen3_tts:llm_ar<1~ 3:code2wav:llm_generation<2=audio
bagel bagel.yaml 0:thinker:llm_ar=text 1:dit:diffusion<0=image
bagel_single_stage bagel_single_stage.yaml 0:dit:diffusion=image
bagel_think bagel_think.yaml 0:thinker:llm_ar=text 1:dit:diffusion<0=image
breeze breeze_tts_2.yaml 0:breeze_tts_2:llm_ar~ 1:breeze_tts_2_codec:llm_generation<0=audio
cosmos3_omni_deploy - 0:diffusion:diffusion=video
cosmos3_policy - 0:diffusion:diffusion=action
cosyvoice3 cosyvoice3.yaml 0:cosyvoice3_talker:llm_ar~ 1:cosyvoice3_code2wav:llm_generation<0=audio
covo_audio covo_audio.yaml 0:fused_thinker_talker:llm_ar=text 1:code2wav:llm_generation<0=audio
dreamzero dreamzero.yaml 0:diffusion:diffusion=image
fish_qwen3_omni fish_qwen3_omni.yaml 0:fish_speech_slow_ar:llm_ar~ 1:dac_decoder:llm_generation<0=audio
gepard gepard.yaml 0:gepard:llm_ar=audio
glm_image glm_image.yaml 0:ar:llm_ar 1:dit:diffusion<0=image
glm_tts glm_tts.yaml 0:glm_tts:llm_ar~ 1:glm_tts_dit:llm_generation<0=audio
higgs_audio_v2 higgs_audio_v2.yaml 0:higgs_audio_v2:llm_ar~ 1:code2wav:llm_generation<0=audio
higgs_multimodal_qwen3 higgs_multimodal_qwen3.yaml 0:higgs_audio_v3:llm_ar~ 1:code2wav:llm_generation<0=audio
hunyuan_image3_ar hunyuan_image3_ar.yaml 0:AR:llm_ar=text
hunyuan_image3_dit hunyuan_image3_dit.yaml 0:dit:diffusion=image
hunyuan_image_3_moe hunyuan_image_3_moe.yaml 0:AR:llm_ar=text 1:dit:diffusion<0=image
hunyuan_video_15 - 0:dit:diffusion=video
indextts2 indextts2.yaml 0:indextts2_talker:llm_ar 1:indextts2_s2mel_decoder:llm_generation<0=audio
indextts2_5 indextts2_5.yaml 0:indextts2_5_talker:llm_ar 1:indextts2_5_s2mel_decoder:llm_generation<0=audio
joyai_vl_interaction joyai_vl_interaction.yaml 0:joyvl:llm_ar=text 1:qwen3_tts:llm_ar<0 2:code2wav:llm_generation<1=audio
lance lance.yaml 0:dit:diffusion=image
lingbot_world - 0:diffusion:diffusion=video
mammoth_moda2 mammoth_moda2.yaml 0:ar:llm_ar 1:dit:diffusion<0=image
mammoth_moda2_ar mammoth_moda2_ar.yaml 0:ar:llm_ar=text
mimo_audio mimo_audio.yaml 0:fused_thinker_talker:llm_ar=text~ 1:code2wav:llm_generation<0=audio
ming_flash_omni ming_flash_omni.yaml 0:thinker:llm_ar=text 1:ming_tts:llm_generation<0=audio
ming_flash_omni_image ming_flash_omni_image.yaml 0:thinker:llm_ar 1:dit:diffusion<0=image
ming_flash_omni_thinker_only ming_flash_omni_thinker_only.yaml 0:thinker:llm_ar=text
ming_flash_omni_tts ming_flash_omni_tts.yaml 0:ming_tts:llm_generation=audio
ming_image ming_image.yaml 0:mllm:llm_ar 1:dit:diffusion<0=image
ming_tts ming_tts.yaml 0:llm:llm_ar~ 1:audio_vae:llm_generation<0=audio
ming_tts_moe ming_tts_moe.yaml 0:llm:llm_ar~ 1:audio_vae:llm_generation<0=audio
minicpmo_4_5 minicpmo_4_5.yaml 0:llm:llm_ar=text 1:tts:llm_ar<0~ 2:code2wav:llm_generation<1=audio
minimax_h3_disaggregated minimax_h3_disaggregated.yaml 0:encoder:llm_ar 1:dit:diffusion<0=video
minimax_music3 minimax_music3.yaml 0:minimax_music3_ar:llm_ar~ 1:minimax_music3_acoustic:llm_generation<0=audio
moss_tts_delay moss_tts.yaml 0:moss_tts:llm_ar~ 1:moss_tts_codec:llm_generation<0=audio
moss_tts_local moss_tts_local.yaml 0:moss_tts_local:llm_ar~ 1:moss_tts_local_codec:llm_generation<0=audio
moss_tts_nano moss_tts_nano.yaml 0:moss_tts_nano:llm_ar=audio
moss_tts_realtime moss_tts_realtime.yaml 0:moss_tts:llm_ar~ 1:moss_tts_codec:llm_generation<0=audio
nemotron_labs_audex audex_tts.yaml 0:audex_thinker:llm_ar~ 1:audex_code2wav:llm_generation<0=audio
nemotron_labs_voicechat nemotron_labs_voicechat.yaml 0:thinker:llm_ar=text~ 1:talker:llm_ar<0~ 2:code2wav:llm_generation<1=audio
nemotron_voicechat nemotron_labs_voicechat.yaml 0:thinker:llm_ar=text~ 1:talker:llm_ar<0~ 2:code2wav:llm_generation<1=audio
omnivoice omnivoice.yaml 0:dit:diffusion=audio
personaplex personaplex.yaml 0:personaplex:llm_ar~ 1:code2wav:llm_generation<0=audio
pi0 - 0:diffusion:diffusion=action
pi05 - 0:diffusion:diffusion=action
qwen2_5_omni qwen2_5_omni.yaml 0:thinker:llm_ar=text 1:talker:llm_ar<0 2:code2wav:llm_generation<1=audio
qwen2_5_omni_thinker_only - 0:thinker:llm_ar=text
qwen3_omni_moe qwen3_omni_moe.yaml 0:thinker:llm_ar=text~ 1:talker:llm_ar<0~ 2:code2wav:llm_generation<1=audio
qwen3_omni_moe_thinker_only - 0:thinker:llm_ar=text
qwen3_tts qwen3_tts.yaml 0:qwen3_tts:llm_ar~ 1:code2wav:llm_generation<0=audio
step_audio_2 - 0:step_audio2_thinker:llm_ar=text~ 1:token2wav:llm_generation<0=audio
step_audio_2_asr - 0:step_audio2_thinker:llm_ar=text
voxcpm2 voxcpm2.yaml 0:latent_generator:llm_ar=audio
voxtral_tts voxtral_tts.yaml 0:audio_generation:llm_ar~ 1:audio_tokenizer:llm_generation<0=audio
wan2_2_ti2v - 0:dit:diffusion=video
`

function stageOf(text: string): RegisteredStage {
  const [, id, name, runs, from, output, streams] =
    /^(\d+):([^:]+):([a-z_]+)(?:<([\d,]+))?(?:=(\w+))?(~)?$/.exec(text)!
  return {
    id: Number(id),
    name: name!,
    runs: runs!,
    from: from?.split(',').map(Number) ?? [],
    output,
    streams: streams !== undefined,
  }
}

export const VLLM_OMNI_PIPELINES: Readonly<Record<string, RegisteredPipeline>> = Object.fromEntries(
  ROWS.trim()
    .split('\n')
    .map((row) => {
      const [name, deploy, ...stages] = row.split(' ')
      return [name, { stages: stages.map(stageOf), deploy: deploy === '-' ? undefined : deploy }]
    }),
)

/** A pipeline by its name in the registry. */
export function registered(name: string | undefined): RegisteredPipeline | undefined {
  return name !== undefined && Object.hasOwn(VLLM_OMNI_PIPELINES, name)
    ? VLLM_OMNI_PIPELINES[name]
    : undefined
}
