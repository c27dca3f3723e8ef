/**
 * @module
 * The virtual environment of the engine suite: vLLM 0.30.0 (its CPU build) and vLLM-Omni 0.30.0 from pip, kept in `.venv/engine`
 * between runs. What it takes, and why no simpler way exists, is in docs/vllm-omni.md.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = '.venv/engine'
const MARK = join(FOLDER, 'complete')
const INPUTS = ['requirements.txt', 'cuda_stubs.py'].map((f) => join('test/engine', f))
const TORCH = '2.13.0'
/** What loading a deploy file takes beside the engine; put in later than the rest, so that it does not make all anew. */
const EXTRAS = ['torchvision==0.29.2']
const EXTRAS_MARK = join(FOLDER, 'extras')
/** Of the CUDA build: the parts that torch really calls while it finds out that there is no GPU. */
const CUDA_PARTS = ['nvidia-cuda-runtime==13.0.96', 'nvidia-cuda-cupti==13.0.85']

/** The interpreter of a complete environment, or why there is none. */
export type Installed = { readonly python: string } | { readonly missing: string }

/** Makes the environment, or takes the one of an earlier run. */
export function installEngine(log: (text: string) => void): Installed {
  const python = join(FOLDER, 'bin/python')
  const hash = createHash('sha256').update([TORCH, ...CUDA_PARTS].join())
  for (const file of INPUTS) hash.update(readFileSync(file))
  const wanted = hash.digest('hex')
  if (existsSync(MARK) && readFileSync(MARK, 'utf8') === wanted) {
    addExtras(python, log)
    return { python }
  }

  const base = ['python3.11', 'python3'].find((name) => is311(name))
  if (base === undefined)
    return { missing: 'Python 3.11 is not here; the pinned wheels are for it' }
  rmSync(FOLDER, { recursive: true, force: true })
  const start = Date.now()
  if (!run(base, ['-m', 'venv', FOLDER])) return { missing: 'python -m venv failed' }
  const pip = (...args: string[]): boolean =>
    run(python, [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--no-deps',
      ...args,
    ])
  // A small package first: it tells a machine without an index from a package that is not there.
  if (!pip('packaging')) return { missing: 'pip cannot reach a package index' }
  log('engine suite: installing vLLM and vLLM-Omni 0.30.0 (about 1 GB)')
  if (!pip('-r', 'test/engine/requirements.txt'))
    return { missing: 'pip could not install test/engine/requirements.txt' }
  // Most indexes have no such build; pip's complaint about that would only alarm.
  const cpuTorch = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--no-deps',
    '--no-compile',
    `torch==${TORCH}+cpu`,
  ]
  if (spawnSync(python, cpuTorch, { stdio: 'ignore' }).status !== 0) {
    log(
      `engine suite: pip finds no CPU build of torch ${TORCH}; taking the CUDA build without its GPU libraries`,
    )
    if (!pip(`torch==${TORCH}`, ...CUDA_PARTS))
      return { missing: `pip could not install torch ${TORCH}` }
    const site = capture(python, [
      '-c',
      'import sysconfig; print(sysconfig.get_paths()["platlib"])',
    ])
    if (!run(python, ['test/engine/cuda_stubs.py', site]))
      return { missing: 'the stand-ins for CUDA libraries need cc and readelf' }
  }
  if (!run(python, ['-c', 'import torch; torch.ones(1)']))
    return { missing: 'torch does not import' }
  writeFileSync(MARK, wanted)
  log(`engine suite: installed in ${((Date.now() - start) / 1000).toFixed(0)} s`)
  addExtras(python, log)
  return { python }
}

/** The cases that need them say so when they are not to be had. */
function addExtras(python: string, log: (text: string) => void): void {
  if (existsSync(EXTRAS_MARK) && readFileSync(EXTRAS_MARK, 'utf8') === EXTRAS.join()) return
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps']
  if (run(python, [...args, ...EXTRAS])) writeFileSync(EXTRAS_MARK, EXTRAS.join())
  else log(`engine suite: pip could not install ${EXTRAS.join(', ')}`)
}

function is311(name: string): boolean {
  return capture(name, ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']) === '3.11'
}

function run(command: string, args: readonly string[]): boolean {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  return status === 0
}

function capture(command: string, args: readonly string[]): string {
  return (spawnSync(command, args, { encoding: 'utf8' }).stdout ?? '').trim()
}
