#!/usr/bin/env bash
# Fills a folder with the real libcuda.so.1 and libnvidia-ml.so.1 of three driver branches, unpacked (not installed) from Debian's
# non-free packages, for the tests on a machine without a GPU:
#   scripts/nvidia-libraries.sh /tmp/nvidia && HORIZON_NVIDIA_LIBRARIES=/tmp/nvidia npx vitest run test/gpu/real-libraries.test.ts
# The libraries are NVIDIA's, under their own licence, and stay out of this repository. Needs apt and a Debian keyring.
set -euo pipefail
target=$(mkdir -p "${1:?usage: scripts/nvidia-libraries.sh FOLDER}" && cd "$1" && pwd)
# The mirror that this machine's own apt uses, in either format of its sources.
mirror=${DEBIAN_MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v '^#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' ' || true)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for suite in bookworm trixie experimental; do
  root=$scratch/$suite
  mkdir -p "$root/lists/partial" "$root/cache/archives/partial" "$root/out"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite non-free" >"$root/sources.list"
  apt=(apt-get -qq -o "Dir::Etc::sourcelist=$root/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$root/lists" -o "Dir::Cache=$root/cache" -o APT::Sandbox::User=root)
  "${apt[@]}" update
  (cd "$root" && "${apt[@]}" download libcuda1 libnvidia-ml1)
  for package in "$root"/*.deb; do dpkg -x "$package" "$root/out"; done
  version=$(find "$root/out" -name 'libcuda.so.*.*' -printf '%f\n' | sed 's/libcuda.so.//')
  mkdir -p "$target/$version"
  cp "$(find "$root/out" -name 'libcuda.so.*.*')" "$target/$version/libcuda.so.1"
  cp "$(find "$root/out" -name 'libnvidia-ml.so.*.*')" "$target/$version/libnvidia-ml.so.1"
  echo "$target/$version"
done
