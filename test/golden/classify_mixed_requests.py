"""Classifies the requests of `mixed-requests.json` as the shim inside an engine does; prints the names as JSON. Standard library only."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))

from horizonserve.classes import ClassBook  # noqa: E402
from horizonserve.describe import describe  # noqa: E402

MASKS = {"text": 1, "audio": 2, "image": 4, "video": 8}


def plain_request(each, extra):
    """The attributes that an engine's request has; the suite on the real engine uses the engine's own class."""
    return SimpleNamespace(
        request_id="r",
        num_prompt_tokens=8,
        priority=each.get("priority", 0),
        sampling_params=SimpleNamespace(extra_args=extra),
        mm_features=[SimpleNamespace(modality=m, mm_position=SimpleNamespace(length=10)) for m in each.get("inputs", ()) if m != "text"],
    )


def classify(golden, make_request=plain_request):
    """(set, why, expected, got), once for each way in which a request can carry what it says."""
    for group in golden["sets"]:
        book = ClassBook(
            json.dumps(
                {
                    "classes": [
                        {"name": c["name"], "outputs": MASKS[c["output"]], "inputs": sum(MASKS[m] for m in c.get("inputs", ()))} for c in group["classes"]
                    ]
                }
            ),
            [SimpleNamespace(priority=c["priority"]) for c in group["classes"]],
        )
        for each in group["requests"]:
            marks = {"omni_final_stage_id": each["finalStage"]} if "finalStage" in each else {}
            said = {"modalities": each["modalities"]} if "modalities" in each else {}
            for info, extra in ((marks | said, {}), (marks, said)):
                features = describe(make_request(each, extra), info)
                yield group["name"], each["why"], each["class"], book.names[book.class_of(features)]


if __name__ == "__main__":
    answers = list(classify(json.loads((HERE / "mixed-requests.json").read_text())))
    wrong = [a for a in answers if a[2] != a[3]]
    print(json.dumps({"cases": len(answers), "wrong": wrong}))
