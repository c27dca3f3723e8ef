"""The real schedulers of vLLM and vLLM-Omni, constructed without a model, a tokenizer or a network, and driven in virtual time."""

import json
import os
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from vllm.config import CacheConfig, DeviceConfig, ModelConfig, ParallelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager

TINY_MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 512,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
}
BLOCK = 16


def tiny_model_dir():
    """A folder with a config and nothing else: enough for a scheduler, and for a real engine with dummy weights."""
    folder = Path(tempfile.gettempdir()) / f"horizonserve-tiny-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(TINY_MODEL))
    return str(folder)


def make_scheduler(cls, num_blocks=1024, max_num_seqs=16, max_tokens=512, policy="fcfs", async_scheduling=True, max_len=4096):
    model = ModelConfig(model=tiny_model_dir(), tokenizer=tiny_model_dir(), skip_tokenizer_init=True, dtype="float16", seed=0, max_model_len=max_len)
    scheduler_config = SchedulerConfig(
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_tokens,
        max_model_len=max_len,
        enable_chunked_prefill=True,
        is_encoder_decoder=False,
        policy=policy,
        async_scheduling=async_scheduling,
    )
    cache = CacheConfig(block_size=BLOCK, gpu_memory_utilization=0.9, enable_prefix_caching=False)
    cache.num_gpu_blocks = num_blocks
    config = VllmConfig(
        scheduler_config=scheduler_config, model_config=model, cache_config=cache, parallel_config=ParallelConfig(), device_config=DeviceConfig("cpu")
    )
    spec = FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32)
    kv = KVCacheConfig(num_blocks=num_blocks, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)])
    try:
        from vllm.v1.core.single_type_kv_cache_manager import register_all_kvcache_specs

        register_all_kvcache_specs(config)
    except ImportError:
        pass
    return cls(
        vllm_config=config,
        kv_cache_config=kv,
        log_stats=False,
        structured_output_manager=StructuredOutputManager(config),
        block_size=BLOCK,
    )


def make_request(request_id, tokens, max_tokens, priority=0, arrival=None, request_class=Request, extra_args=None, **more):
    params = SamplingParams(max_tokens=max_tokens, ignore_eos=True, extra_args=extra_args)
    request = request_class(
        request_id=request_id,
        prompt_token_ids=[3 + (i % 500) for i in range(tokens)],
        sampling_params=params,
        pooling_params=None,
        priority=priority,
        arrival_time=arrival,
        **more,
    )
    return request


class Loop:
    """Drives a scheduler as an engine does: schedule, pretend to run, give the output back (one step later with async scheduling)."""

    def __init__(self, scheduler, lag=1, seed=0):
        self.scheduler = scheduler
        self.lag = lag
        self.pending = []
        self.random = random.Random(seed)
        self.steps = 0
        self.empty_steps = 0
        self.finished = []
        self.scheduled_tokens = 0

    def step(self):
        scheduler = self.scheduler
        output = scheduler.schedule()
        scheduler.get_grammar_bitmask(output)
        self.steps += 1
        self.scheduled_tokens += output.total_num_scheduled_tokens
        self.pending.append(output)
        while len(self.pending) > (self.lag if output.total_num_scheduled_tokens else 0):
            self.deliver(self.pending.pop(0))
        return output

    def deliver(self, output):
        ids = list(output.num_scheduled_tokens)
        tokens = []
        for request_id in ids:
            request = self.scheduler.requests.get(request_id)
            # A prompt that is not done yields no token.
            done = request is not None and not self._was_partial(output, request_id, request)
            tokens.append([5 + self.random.randrange(100)] if done else [])
        result = ModelRunnerOutput(
            req_ids=ids,
            req_id_to_index={r: i for i, r in enumerate(ids)},
            sampled_token_ids=tokens,
            logprobs=None,
            prompt_logprobs_dict={},
            pooler_output=[],
        )
        for outputs in self.scheduler.update_from_output(output, result).values():
            for each in outputs.outputs:
                if each.finish_reason is not None:
                    self.finished.append(each.request_id)

    def _was_partial(self, output, request_id, request):
        computed = output.horizon_computed.get(request_id) if hasattr(output, "horizon_computed") else None
        if computed is None:
            computed = computed_before(output, request_id)
        return computed + output.num_scheduled_tokens[request_id] < request.num_prompt_tokens

    def drain(self):
        while self.pending:
            self.deliver(self.pending.pop(0))


def computed_before(output, request_id):
    """Tokens that were computed before the step, as the worker is told."""
    for new in output.scheduled_new_reqs:
        if new.req_id == request_id:
            return new.num_computed_tokens
    cached = output.scheduled_cached_reqs
    return cached.num_computed_tokens[cached.req_ids.index(request_id)]
