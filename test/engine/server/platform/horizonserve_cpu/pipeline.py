"""Two pipelines of one model folder: `tiny_speech` thinks and speaks, `tiny_speech_3` has a talker between."""

from vllm_omni.config.pipeline_registry import OMNI_PIPELINES, register_pipeline
from vllm_omni.config.stage_config import PipelineConfig, StageExecutionType, StagePipelineConfig
from vllm_omni.inputs.data import OmniTokensPrompt

_HERE = "horizonserve_cpu.pipeline"


def tokens_of(source_outputs, _prompt=None, _requires_multimodal_data=False):
    """The next stage's prompt is what the stage before said."""
    prompts = []
    for output in source_outputs:
        said = [int(token) for token in output.outputs[0].cumulative_token_ids]
        prompts.append(OmniTokensPrompt(prompt_token_ids=said or [5], additional_information=None, multi_modal_data=None, mm_processor_kwargs=None))
    return prompts


def _thinker():
    return StagePipelineConfig(
        stage_id=0, model_stage="thinker", model_arch="TinyThinker", execution_type=StageExecutionType.LLM_AR, final_output=True, final_output_type="text",
        owns_tokenizer=True, engine_output_type="text", sampling_constraints={"detokenize": True},
    )


def _talker(stage_id):
    return StagePipelineConfig(
        stage_id=stage_id, model_stage="talker", model_arch="TinyThinker", execution_type=StageExecutionType.LLM_AR, input_sources=(stage_id - 1,),
        engine_output_type="text", sync_process_input_func=f"{_HERE}.tokens_of", sampling_constraints={"detokenize": False},
    )


def _voice(stage_id):
    return StagePipelineConfig(
        stage_id=stage_id, model_stage="voice", model_arch="TinyVoice", execution_type=StageExecutionType.LLM_GENERATION, input_sources=(stage_id - 1,),
        final_output=True, final_output_type="audio", engine_output_type="audio", sync_process_input_func=f"{_HERE}.tokens_of",
        sampling_constraints={"detokenize": False},
    )


def register():
    if "tiny_speech" in OMNI_PIPELINES:
        return
    register_pipeline(PipelineConfig(model_type="tiny_speech", model_arch="TinyThinker", stages=(_thinker(), _voice(1))))
    register_pipeline(PipelineConfig(model_type="tiny_speech_3", model_arch="TinyThinker", stages=(_thinker(), _talker(1), _voice(2))))
