import { defineConfig } from 'tsup'

/** Benches are bundled the way the package is: module boundaries cost time on hot paths, and users do not pay them. */
export default defineConfig({
  entry: {
    run: 'bench/run.ts',
    'step-at-size': 'bench/step-at-size.ts',
    'schedulers-in-process': 'bench/schedulers-in-process.ts',
    'pick-at-size': 'bench/pick-at-size.ts',
    'readme-api-at-size': 'bench/readme-api-at-size.ts',
  },
  outDir: 'out/bench',
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  splitting: true,
  treeshake: true,
  clean: true,
  silent: true,
  // Bundlers are measured, not bundled.
  external: ['esbuild', 'vite', 'webpack'],
})
