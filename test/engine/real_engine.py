"""A real vLLM engine on the CPU in wall-clock time: tiny random weights, token-id prompts, no tokenizer, no network.

Reads one JSON command a line from standard input (`solo`, `saturate`, `serve`, `end`) and answers with one JSON line, so that a vanilla
and a steered engine can be driven in turn on the same machine.
"""

import json
import os
import random
import sys
import time

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from harness import tiny_model_dir  # noqa: E402
from vllm import LLM, SamplingParams  # noqa: E402

SLOTS = 8
TEXT = {"tokens": 32, "output": 8, "modalities": ["text"]}
SPEECH = {"tokens": 384, "output": 96, "modalities": ["audio"]}


class Server:
    def __init__(self, scheduler_cls):
        more = {} if scheduler_cls == "vanilla" else {"scheduler_cls": scheduler_cls}
        self.llm = LLM(
            model=tiny_model_dir(), tokenizer=tiny_model_dir(), skip_tokenizer_init=True, load_format="dummy", dtype="float32", enforce_eager=True,
            max_model_len=1024, max_num_seqs=SLOTS, max_num_batched_tokens=1024, enable_prefix_caching=False, seed=0, **more,
        )
        self.engine = self.llm.llm_engine
        self.number = 0
        self.steps = 0

    def add(self, kind):
        self.number += 1
        request_id = f"q{self.number}"
        params = SamplingParams(max_tokens=kind["output"], ignore_eos=True, detokenize=False, temperature=0.0, extra_args={"modalities": kind["modalities"]})
        self.engine.add_request(request_id, {"prompt_token_ids": [3 + (self.number + i) % 500 for i in range(kind["tokens"])]}, params)
        return request_id

    def play(self, plan):
        """Serves `[(at_s, kind)]`; returns the time to the first token of each, ms, and how long all took, s."""
        start = time.monotonic()
        arrived, first, at = {}, {}, 0
        while at < len(plan) or self.engine.has_unfinished_requests():
            now = time.monotonic() - start
            while at < len(plan) and plan[at][0] <= now:
                arrived[self.add(plan[at][1])] = (plan[at][0], plan[at][1]["modalities"][0])
                at += 1
            if not self.engine.has_unfinished_requests():
                time.sleep(max(0.0, min(0.001, plan[at][0] - now)))
                continue
            self.steps += 1
            for output in self.engine.step():
                key = output.request_id if output.request_id in arrived else output.request_id.rsplit("-", 1)[0]
                if key not in first and output.outputs and output.outputs[0].token_ids:
                    first[key] = time.monotonic() - start
        took = time.monotonic() - start
        by_kind = {"text": [], "audio": []}
        for request_id, (when, kind) in arrived.items():
            by_kind[kind].append((first[request_id] - when) * 1000)
        return by_kind, took


def mixed(seed, count, rate):
    rng = random.Random(seed)
    plan, at = [], 0.0
    for _ in range(count):
        at += rng.expovariate(rate) if rate else 0.0
        plan.append((at, SPEECH if rng.random() < 0.35 else TEXT))
    return plan


def main():
    # vLLM prints to standard output; answers go to a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = Server(sys.argv[1])
    answers.write(json.dumps({"ready": True}) + "\n")
    answers.flush()
    for line in sys.stdin:
        command = json.loads(line)
        what = command["do"]
        if what == "end":
            break
        if what == "solo":
            result = {}
            for name, kind in (("text", TEXT), ("audio", SPEECH)):
                samples = []
                for _ in range(command["count"]):
                    latencies, _ = server.play([(0.0, kind)])
                    samples += latencies[name]
                result[name] = sorted(samples)
        elif what == "saturate":
            before = server.steps
            _, took = server.play(mixed(command["seed"], command["count"], 0))
            result = {"seconds": took, "perSecond": command["count"] / took, "steps": server.steps - before}
        else:
            latencies, took = server.play(mixed(command["seed"], command["count"], command["rate"]))
            result = {"latencies": latencies, "seconds": took}
        answers.write(json.dumps(result) + "\n")
        answers.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
