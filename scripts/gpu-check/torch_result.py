"""One check's result as JSON, written as often as something new is known: what was measured survives a crash after it."""

from __future__ import annotations

import json
import os
import pathlib
import sys

QUICK = os.environ.get("HORIZON_GPU_CHECK_QUICK") == "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))


class Result:
    """`name`.json in `folder`, in the form that report.ts reads."""

    def __init__(self, name: str, folder: str) -> None:
        self.name, self.folder = name, pathlib.Path(folder)
        self.failed: list[str] = []
        self.values: dict[str, object] = {}

    def write(self, **more: object) -> None:
        result = {"name": self.name, "failed": self.failed, "values": self.values, **more}
        (self.folder / f"{self.name}.json").write_text(json.dumps(result) + "\n")

    def finish(self, **more: object) -> None:
        self.write(**more)
        print(more.get("skipped") or self.failed or "ok", file=sys.stderr)
        sys.exit(1 if self.failed else 0)

    def torch(self):
        """torch with a GPU, or the end of this check with the reason."""
        try:
            import torch
        except ImportError as error:
            self.finish(skipped=f"Python finds no torch: {error}")
        if not torch.cuda.is_available():
            self.finish(skipped="torch sees no GPU (a build for the CPU, or for another driver)")
        self.values["torch"] = torch.__version__
        return torch

    def description(self) -> dict:
        return json.loads((self.folder / "description.json").read_text())
