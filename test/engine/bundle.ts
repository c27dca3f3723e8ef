/**
 * @module
 * Compiles the suite's controller and its worker once: hundreds of controllers start within one run.
 */
import { build } from 'tsup'

/** Writes `controller.js` and its workers into a folder. */
export async function bundleController(outDir: string): Promise<void> {
  await build({
    config: false,
    silent: true,
    entry: {
      controller: 'test/engine/controller.ts',
      'doorbell-worker': 'src/controller/doorbell-worker.ts',
      'pressure-worker': 'src/controller/pressure-worker.ts',
    },
    outDir,
    format: ['esm'],
    target: 'node20',
    platform: 'node',
    splitting: false,
    clean: true,
    dts: false,
  })
}

if (process.argv[1]?.endsWith('bundle.ts')) await bundleController(process.argv[2] ?? 'out/engine')
