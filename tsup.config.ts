import { cp, mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { defineConfig } from 'tsup'

/** The chart library that `report` inlines travels as a file of its own, so it is no runtime dependency. */
async function copyChartLibrary(): Promise<void> {
  // chart.js exports no package.json; its main file lies in dist/.
  const dist = dirname(createRequire(import.meta.url).resolve('chart.js'))
  await mkdir('dist/vendor', { recursive: true })
  await cp(join(dist, 'chart.umd.min.js'), 'dist/vendor/chart.umd.min.js')
  await cp(join(dist, '../LICENSE.md'), 'dist/vendor/chart.LICENSE.md')
}

const entries = {
  index: 'src/index.ts',
  'core/index': 'src/core/index.ts',
  'policies/index': 'src/policies/index.ts',
  'config-file': 'src/config-file.ts',
  'gpu/index': 'src/gpu/index.ts',
  'adapters/index': 'src/adapters/index.ts',
  'fleet/index': 'src/fleet/index.ts',
  'record/index': 'src/record/index.ts',
  'sim/index': 'src/sim/index.ts',
  'deploy/index': 'src/deploy/index.ts',
  'live/index': 'src/live/index.ts',
  'controller/doorbell-worker': 'src/controller/doorbell-worker.ts',
  'controller/pressure-worker': 'src/controller/pressure-worker.ts',
  'cli/main': 'src/cli/main.ts',
}

export default defineConfig([
  {
    entry: entries,
    format: ['esm'],
    target: 'node20',
    platform: 'node',
    splitting: true,
    treeshake: true,
    sourcemap: true,
    clean: true,
    removeNodeProtocol: false,
    // Optional packages are loaded when used, never bundled.
    external: [/^@grpc\//],
    dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
    onSuccess: copyChartLibrary,
  },
  {
    // What `size-limit` weighs: the main entry alone, minified as a user's esbuild would, its dependencies left out. Not shipped.
    entry: { 'size/index': 'src/index.ts' },
    format: ['esm'],
    target: 'node20',
    platform: 'node',
    splitting: false,
    minify: true,
    clean: false,
  },
])
