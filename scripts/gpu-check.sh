#!/usr/bin/env bash
# Checks and measures everything here that needs a real GPU, in one command and under seven minutes:
#   scripts/gpu-check/pack.sh                       (first, on a machine with Node: fills build/gpu-check, which git ignores)
#   timeout 600 scripts/gpu-check.sh [FOLDER]       (on the machine with the GPU, with build/gpu-check beside the sources)
# FOLDER (default: $OUT, else ./out/gpu-check) gets three files: result.json, table.md, and gpu-check.tgz with everything else.
# Needs: x86-64 Linux, an NVIDIA driver, Python 3.10. No Node, no network, no compiler: scripts/gpu-check/pack.sh put what is needed
# into build/gpu-check beforehand. Torch and MPS are used where they are, and skipped with a reason where not.
# With HORIZON_LIBCUDA and HORIZON_LIBNVML pointing at the doubles it is a dry run; HORIZON_GPU_CHECK_QUICK=1 shortens the loops.
# GPU settings are left alone: no clocks, no MIG, no compute mode; the MPS daemon it starts has its own pipe and is stopped again.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
started=$SECONDS
pack=${HORIZON_GPU_CHECK_PACK:-build/gpu-check}
out=${1:-${OUT:-out/gpu-check}}
mkdir -p "$out" && results=$(cd "$out" && pwd) || exit 1
scratch=$(mktemp -d)
out=$scratch/files
mkdir "$out"
# Where the driver's own programs and libraries lie when nobody put them on the paths.
for folder in /usr/local/nvidia /usr/lib/nvidia /usr/local/cuda; do
  [ -d "$folder/bin" ] && PATH=$PATH:$folder/bin
  [ -d "$folder/lib64" ] && export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder/lib64
done
python=${PYTHON:-python3}
quick=()
[ "${HORIZON_GPU_CHECK_QUICK:-}" = 1 ] && quick=(--quick)
mps_started=''
finish() {
  [ -n "$mps_started" ] && echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
  # Few files come back from some machines, and what was written before a crash must be among them.
  cp "$out"/result.json "$out"/table.md "$results" 2>/dev/null
  tar -czf "$results/gpu-check.tgz" -C "$out" .
  rm -rf "$scratch"
}
trap finish EXIT

say() { printf '[%3ds] %s\n' $((SECONDS - started)) "$*" >&2; }
# Runs a step within what is left of 400 s: what hangs is stopped, and the report is still written.
step() { # seconds, log, command...
  local limit=$1 log=$2 left=$((400 - SECONDS + started)) rc=0
  shift 2
  [ "$left" -lt "$limit" ] && limit=$left
  [ "$limit" -lt 2 ] && { echo 'no time left' >>"$out/$log"; return 124; }
  timeout -k 5 "$limit" "$@" 2>>"$out/$log" || rc=$?
  [ $rc -eq 0 ] || say "$log: exit code $rc"
  return $rc
}
skip() { printf '{"reason":"%s"}\n' "$2" >"$out/$1-skipped.json"; say "$1: $2"; }

[ -f "$pack/main.mjs" ] || { echo "no $pack: run scripts/gpu-check/pack.sh first, on a machine with Node" >&2; exit 2; }
rm -f "$results"/result.json "$results"/table.md "$results"/gpu-check.tgz

if [ -x "$pack/node" ]; then
  node=$pack/node
else
  say 'unpacking Node'
  node=$scratch/node
  "$python" - "$pack/node.xz" "$node" <<'PY' || exit 1
import lzma, os, shutil, sys
with lzma.open(sys.argv[1]) as source, open(sys.argv[2], "wb") as target:
    shutil.copyfileobj(source, target, 1 << 20)
os.chmod(sys.argv[2], 0o755)
PY
fi
say "Node $("$node" --version); $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)"

say 'doctor'
step 20 doctor.log "$node" "$pack/dist/cli/main.mjs" doctor --json >"$out/doctor.json"

say 'checks: ladder, SM identity, switch, creation, pressure, sweep'
step 80 checks.log "$node" "$pack/main.mjs" checks --out "$out" "${quick[@]}"

side() { # mode, side, file, more...
  local mode=$1 side=$2 file=$3
  shift 3
  step 30 "$mode-$side.log" "$node" "$pack/main.mjs" side --out "$out" --side "$side" --file "$file" "${quick[@]}" "$@"
}
both() { # mode
  local mode=$1 meeting=$scratch/$1
  mkdir -p "$meeting"
  side "$mode" shared "$mode-shared-alone.json"
  side "$mode" downstream "$mode-downstream-alone.json"
  side "$mode" shared "$mode-shared.json" --meeting "$meeting" &
  local first=$!
  side "$mode" downstream "$mode-downstream.json" --meeting "$meeting"
  wait "$first"
}

if [ -f "$out/description.json" ]; then
  say 'two processes without MPS'
  both plain
  if command -v nvidia-cuda-mps-control >/dev/null; then
    export CUDA_MPS_PIPE_DIRECTORY=$scratch/mps-pipe CUDA_MPS_LOG_DIRECTORY=$scratch/mps-log
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    if step 15 mps-daemon.log nvidia-cuda-mps-control -d; then
      mps_started=1
      say 'two processes under MPS'
      both mps
      echo quit | timeout 15 nvidia-cuda-mps-control >/dev/null 2>&1
      mps_started=''
      cat "$CUDA_MPS_LOG_DIRECTORY"/*.log >>"$out/mps-daemon.log" 2>/dev/null
    else
      skip mps 'the MPS daemon does not start here'
    fi
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  else
    skip mps 'no nvidia-cuda-mps-control on this machine'
  fi
  say 'torch streams'
  step 60 torch.log "$python" scripts/gpu-check/torch_check.py "$out"
  say 'torch graphs on rows'
  step 90 graphs.log "$python" scripts/gpu-check/graph_check.py "$out"
  say 'sweep command'
  sweep=(--num-levels 5 --steps 40)
  [ ${#quick[@]} -gt 0 ] && sweep=(--num-levels 3 --steps 4)
  step 60 sweep.log "$node" "$pack/dist/cli/main.mjs" sweep "${sweep[@]}" --out "$out/sweep.csv" --report "$out/sweep.html" --json >"$out/sweep.json"
else
  skip plain 'no ladder could be built: see checks.log'
  skip mps 'no ladder could be built: see checks.log'
  for name in torch graphs; do
    echo '{"name":"'$name'","failed":[],"skipped":"no ladder could be built: see checks.log","values":{}}' >"$out/$name.json"
  done
fi

"$node" "$pack/main.mjs" report --out "$out"
rc=$?
say "done; $results/result.json, table.md, gpu-check.tgz"
exit $rc
