/**
 * @module
 * Compiles the doubles, once per source, version and header, into the temporary folder. gcc and g++ are the only things needed; without them
 * the tests that use a double are skipped with that reason.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

// From the root of the repository, where tests and benches run: a bench is bundled elsewhere.
const here = resolve('test/abi/double')

/** True where C and C++ compilers are at hand. */
export const hasCompiler: boolean = (() => {
  try {
    for (const compiler of ['gcc', 'g++'])
      execFileSync(compiler, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

/**
 * Folders with NVIDIA's own headers: each sub-folder of HORIZON_CUDA_HEADERS that has a cuda.h and an nvml.h. `scripts/cuda-headers.sh`
 * fills such a folder from pinned packages.
 */
export const realHeaders: readonly string[] = (() => {
  const root = process.env.HORIZON_CUDA_HEADERS
  if (root === undefined || !existsSync(root)) return []
  return readdirSync(root)
    .map((name) => join(root, name))
    .filter((path) => existsSync(join(path, 'cuda.h')) && existsSync(join(path, 'nvml.h')))
})()

/** Said where tests with real headers are skipped. */
export const NO_HEADERS =
  'HORIZON_CUDA_HEADERS names no folder with cuda.h and nvml.h (scripts/cuda-headers.sh)'

/** Compiles `sources` of this folder into a shared library and returns its path. Same inputs, same path. */
export function compileDouble(
  name: string,
  sources: readonly string[],
  flags: readonly string[] = [],
): string {
  const hash = createHash('sha256').update(flags.join(' '))
  for (const file of readdirSync(here).sort())
    if (/\.[ch]$/.test(file)) hash.update(readFileSync(join(here, file)))
  const folder = join(tmpdir(), 'horizonserve-double', hash.digest('hex').slice(0, 16))
  const path = join(folder, name)
  if (existsSync(path)) return path
  mkdirSync(folder, { recursive: true })
  const scratch = `${path}.${process.pid}`
  execFileSync(
    'gcc',
    [
      ...['-std=gnu11', '-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC'],
      ...['-fvisibility=hidden', `-Wl,-soname,${name}`, `-I${here}`],
      ...flags,
      ...['-o', scratch],
      ...sources.map((source) => join(here, source)),
      '-lpthread',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  renameSync(scratch, path)
  return path
}

/** The CUDA double of a driver that speaks `version` (12080 is CUDA 12.8), with our own header or a real one. */
export function cudaDouble(version = 12080, headers?: string): string {
  const real = headers === undefined ? [] : ['-DREAL_HEADERS', `-I${headers}`]
  return compileDouble(
    'libcuda.so.1',
    ['cuda-double.c', 'cuda-double-green.c', 'cuda-double-launch.c'],
    [`-DDRIVER=${version}`, ...real],
  )
}

/** The NVML double. */
export function nvmlDouble(headers?: string): string {
  const real = headers === undefined ? [] : ['-DREAL_HEADERS', `-I${headers}`]
  return compileDouble('libnvidia-ml.so.1', ['nvml-double.c'], real)
}
