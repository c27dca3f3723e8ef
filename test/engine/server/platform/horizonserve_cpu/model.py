"""A llama with random weights that thinks (and talks), and a voice that makes a waveform of tokens with work that grows with them."""

import math

import torch
from vllm.model_executor.models.llama import LlamaForCausalLM
from vllm_omni.model_executor.models.output_templates import OmniOutput

SAMPLE_RATE = 24_000
#: 20 ms of sound for a token.
SAMPLES_PER_TOKEN = SAMPLE_RATE // 50


class TinyThinker(LlamaForCausalLM):
    have_multimodal_outputs = False
    has_preprocess = has_postprocess = False

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None, **_more):
        return super().forward(input_ids, positions, intermediate_tensors, inputs_embeds)


class TinyVoice(torch.nn.Module):
    have_multimodal_outputs = True
    has_preprocess = has_postprocess = False
    requires_exact_input_shape = True

    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        config = vllm_config.model_config.hf_config
        self.work = int(getattr(config, "voice_work", 0))
        self.hidden_size = config.hidden_size
        self.weight = torch.nn.Parameter(torch.randn(256, 256) / 16, requires_grad=False)

    def get_input_embeddings(self, input_ids, **_more):
        return torch.zeros(input_ids.shape[0], self.hidden_size)

    embed_input_ids = get_input_embeddings

    def forward(self, input_ids, positions=None, seq_token_counts=None, **_more):
        counts = seq_token_counts or [input_ids.shape[0]]
        sounds, at = [], 0
        for count in counts:
            sounds.append(self._sound(input_ids[at : at + count]))
            at += count
        rate = [torch.tensor(SAMPLE_RATE) for _ in counts]
        return OmniOutput(text_hidden_states=torch.zeros(1, 1), multimodal_outputs={"audio": sounds, "sr": rate})

    def _sound(self, tokens):
        x = torch.ones(64, 256)
        for _ in range(self.work * tokens.shape[0]):
            x = torch.tanh(x @ self.weight)
        at = torch.arange(SAMPLES_PER_TOKEN) / SAMPLE_RATE
        pitch = 110.0 + tokens.to(torch.float32).unsqueeze(1)
        return (0.2 + 0.01 * x.mean()) * torch.sin(2 * math.pi * pitch * at).flatten()

    def compute_logits(self, hidden_states, *_args, **_more):
        return None

    def load_weights(self, weights):
        return set()
