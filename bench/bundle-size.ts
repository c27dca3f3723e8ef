/**
 * @module
 * How large is a bundle of somebody who imports us, dependencies and all? Rows under `bundleBytes`: the main entry as the README uses it
 * (`createHorizon`) and `./core` (`createScheduler`), minified for browsers by three bundlers. Needs a built package.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build as esbuild } from 'esbuild'
import { build as vite } from 'vite'
import webpack from 'webpack'
import type { Bench } from './bench.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const ENTRIES = {
  main: "import { createHorizon } from 'horizonserve'\nglobalThis.kept = createHorizon\n",
  core: "import { createScheduler } from 'horizonserve/core'\nglobalThis.kept = createScheduler\n",
}

const BUNDLERS: Readonly<Record<string, (entry: string, out: string) => Promise<void>>> = {
  async esbuild(entry, out) {
    await esbuild({
      entryPoints: [entry],
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      outfile: join(out, 'bundle.js'),
      absWorkingDir: ROOT,
      logLevel: 'silent',
    })
  },
  async vite(entry, out) {
    await vite({
      configFile: false,
      root: out,
      logLevel: 'silent',
      build: {
        outDir: out,
        emptyOutDir: false,
        // As for an application: a library build leaves blanks in for its users' bundlers to take out.
        modulePreload: false,
        rollupOptions: { input: entry, output: { entryFileNames: 'bundle.js' } },
      },
    })
  },
  webpack: (entry, out) =>
    new Promise((resolve, reject) => {
      const compiler = webpack({
        mode: 'production',
        target: 'web',
        context: ROOT,
        entry,
        output: { path: out, filename: 'bundle.js' },
        performance: false,
      })
      compiler?.run((error, stats) => {
        const problem = error ?? (stats?.hasErrors() ? new Error(stats.toString()) : undefined)
        compiler.close(() => (problem === undefined ? resolve() : reject(problem)))
      })
    }),
}

export const bench: Bench = {
  name: 'bundle-size',
  question: 'how large is a bundle with everything that it needs?',
  async run() {
    if (!existsSync(`${ROOT}dist/index.js`))
      return { bundleBytes: { unavailable: 'build first: npm run build' } }
    const bundleBytes: Record<string, Record<string, number>> = {}
    // Inside of the package, so that it finds itself by its name.
    const folder = mkdtempSync(join(existsSync(`${ROOT}out`) ? `${ROOT}out` : tmpdir(), 'bundle-'))
    try {
      for (const [name, source] of Object.entries(ENTRIES)) {
        bundleBytes[name] = {}
        for (const [bundler, bundle] of Object.entries(BUNDLERS)) {
          const out = mkdtempSync(join(folder, `${name}-${bundler}-`))
          const entry = join(out, 'entry.js')
          writeFileSync(entry, source)
          await bundle(entry, out)
          bundleBytes[name][bundler] = readFileSync(join(out, 'bundle.js')).length
        }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    return { bundleBytes }
  },
}
