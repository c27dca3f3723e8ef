import { defineConfig } from 'tsup'

/** Benches are bundled the way the package is: module boundaries cost time on hot paths, and users do not pay them. */
export default defineConfig({
  entry: { run: 'bench/run.ts' },
  outDir: 'out/bench',
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  splitting: true,
  treeshake: true,
  clean: true,
  silent: true,
})
