/** The package as a user gets it: packed, installed with npm into an empty project outside the repository, imported in every way. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDist } from '../support/fresh-dist.js'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
let project = ''

const SNIPPET = `
const horizon = createHorizon({
  classes: { chat: { output: 'text', sloMs: 400 }, speech: { output: 'audio', sloMs: 4000 } },
  profile: {
    chat: { shared: { promptTokens: [[0, 15], [4000, 160]] } },
    speech: { shared: { promptTokens: [[0, 40], [4000, 200]] }, downstream: { fixedMs: 450 } },
  },
  ladder: { totalSms: 142, levels: [48, 64, 80] },
  rotation: { m: 2, nMin: 2, nMax: 8 },
  uGuard: 2,
  longPathCap: 2,
})
const h = horizon.arrive({ class: 'speech', promptTokens: 812 }, 0)
const batch = []
for (let k = 0; k < 3; k++) {
  const d = horizon.step(k, 0.5, false)
  for (const r of d.view) {
    if (batch.length > 3) break
    batch.push(r)
    horizon.admit(r)
  }
}
horizon.progress(h, 812, 1)
horizon.enterDownstream(h)
horizon.firstResponse(h, 700)
horizon.finish(h)
console.log(JSON.stringify({ batch: batch.length, attained: horizon.metrics().classes.speech.met, cap: horizon.decision.capSms }))
`
const PRINTS = '{"batch":1,"attained":1,"cap":142}\n'

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'horizon-pack-'))
  const env = { ...process.env, npm_config_loglevel: 'error', npm_config_update_notifier: 'false' }
  await freshDist()
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', project], { cwd: ROOT, env })
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    version: string
  }
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ name: 'empty', private: true, type: 'module' }),
  )
  await run(
    'npm',
    [
      'install',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--omit=optional',
      `./horizonserve-${version}.tgz`,
    ],
    { cwd: project, env },
  )
}, 300_000)

afterAll(() => rm(project, { recursive: true, force: true }))

async function node(file: string, text: string, ...args: string[]): Promise<string> {
  await writeFile(join(project, file), text)
  return (await run(process.execPath, [...args, file], { cwd: project })).stdout
}

test('ESM import', async () => {
  expect(await node('esm.mjs', `import { createHorizon } from 'horizonserve'\n${SNIPPET}`)).toBe(
    PRINTS,
  )
})

test('CommonJS require', async () => {
  const text = `const { createHorizon } = require('horizonserve')\n${SNIPPET}`
  // Node 20.19 requires ES modules, and says on stderr that this is experimental.
  expect(await node('cjs.cjs', text)).toBe(PRINTS)
})

test('every subpath of the package can be imported and required', async () => {
  const { exports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, { types: string } | string>
  }
  const paths = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [path],
  )
  const names = JSON.stringify(paths.map((path) => join('horizonserve', path)))
  expect(
    await node('all.mjs', `for (const n of ${names}) await import(n)\nconsole.log('all')`),
  ).toBe('all\n')
  expect(await node('all.cjs', `for (const n of ${names}) require(n)\nconsole.log('all')`)).toBe(
    'all\n',
  )
  for (const target of Object.values(exports))
    if (typeof target !== 'string')
      expect(existsSync(join(project, 'node_modules/horizonserve', target.types))).toBe(true)
})

test('a TypeScript project with nodenext compiles and runs', async () => {
  await mkdir(join(project, 'ts'), { recursive: true })
  const options = {
    module: 'nodenext',
    target: 'es2022',
    strict: true,
    types: [],
    lib: ['es2023', 'dom'],
    outDir: 'out',
    skipLibCheck: process.env.HORIZON_LONG === undefined,
  }
  await writeFile(
    join(project, 'ts/tsconfig.json'),
    JSON.stringify({ compilerOptions: options, files: ['main.ts'] }),
  )
  const typed = SNIPPET.replace('const batch = []', 'const batch: number[] = []')
  const wrong = `\n// @ts-expect-error class names are inferred\nvoid (() => horizon.arrive({ class: 'video' }, 0))\n`
  await writeFile(
    join(project, 'ts/main.ts'),
    `import { createHorizon } from 'horizonserve'\nimport { wrap } from 'horizonserve/adapters'\nimport { horizonPolicy } from 'horizonserve/policies'\nimport { createScheduler } from 'horizonserve/core'\nvoid [wrap, horizonPolicy, createScheduler]\n${typed}${wrong}`,
  )
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [tsc, '-p', 'ts'], { cwd: project }).catch(
    (error: { stdout: string }) => {
      throw new Error(error.stdout)
    },
  )
  expect((await run(process.execPath, ['ts/out/main.js'], { cwd: project })).stdout).toBe(PRINTS)
})

test('horizonserve --help runs from node_modules/.bin', async () => {
  const { stdout } = await run(join(project, 'node_modules/.bin/horizonserve'), ['--help'], {
    cwd: project,
  })
  expect(stdout).toContain('Usage: horizonserve')
})

/** Everything that a file of the package imports, followed through its own files; bare names are where it ends. */
async function importsOf(entry: string): Promise<Set<string>> {
  const bare = new Set<string>()
  const seen = new Set<string>()
  const follow = async (file: string): Promise<void> => {
    if (seen.has(file)) return
    seen.add(file)
    const text = await readFile(file, 'utf8')
    for (const [, name] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([^"'\n]+)["']/g)) {
      if (name!.startsWith('.')) await follow(resolve(file, '..', name!))
      else bare.add(name!)
    }
  }
  await follow(join(project, 'node_modules/horizonserve/dist', entry))
  return bare
}

test('the main entry loads no native code and no Node built-in, the core no zod either', async () => {
  const main = await importsOf('index.js')
  expect([...main].sort()).toEqual(['eventemitter3', 'zod/mini', 'zod/v4/locales/en.js'])
  expect([...(await importsOf('core/index.js'))]).toEqual(['eventemitter3'])
  expect(
    [...(await importsOf('policies/index.js'))].every((name) => name === 'eventemitter3'),
  ).toBe(true)
  // The same way of looking finds them where they are.
  expect([...(await importsOf('config-file.js'))].some((name) => isBuiltin(name))).toBe(true)
})

test('a trace of the loader agrees: what is loaded with each entry', async () => {
  // The hook runs in a thread of its own, whose console may still hold lines when the process ends: it writes them itself.
  const hook = `import { writeSync } from 'node:fs'
export async function resolve(name, context, next) { const r = await next(name, context); if (context.parentURL?.includes('/horizonserve/dist/')) writeSync(2, 'LOADED ' + r.url + '\\n'); return r }`
  await writeFile(join(project, 'hook.mjs'), hook)
  await writeFile(
    join(project, 'register.mjs'),
    `import { register } from 'node:module'\nregister('./hook.mjs', import.meta.url)`,
  )
  const loadedBy = async (name: string): Promise<string[]> => {
    await writeFile(join(project, 'load.mjs'), `await import('${name}')`)
    const { stderr } = await run(process.execPath, ['--import', './register.mjs', 'load.mjs'], {
      cwd: project,
    })
    return stderr
      .split('\n')
      .filter((line) => line.startsWith('LOADED '))
      .map((line) => line.slice(7))
      .filter((url) => !url.includes('/horizonserve/dist/'))
  }
  const main = await loadedBy('horizonserve')
  expect(main.some((url) => url.includes('/zod/'))).toBe(true)
  expect(
    main.filter((url) => url.startsWith('node:') || url.endsWith('.node') || url.includes('koffi')),
  ).toEqual([])
  const core = await loadedBy('horizonserve/core')
  expect(core.every((url) => url.includes('/eventemitter3/'))).toBe(true)
})
