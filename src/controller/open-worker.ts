/**
 * @module
 * Starts a worker thread of this room. From sources the worker loads a compiler first; a package has it compiled, beside the entry or
 * in the folder of this room.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { HorizonError } from '../core/errors.js'

/** The workers of this room. */
export type WorkerName = 'doorbell-worker' | 'pressure-worker'

/** `folder`: where a program that bundles this one keeps the compiled workers. */
export function openWorker(name: WorkerName, workerData: unknown, folder: URL | undefined): Worker {
  if (folder !== undefined) return new Worker(new URL(`${name}.js`, folder), { workerData })
  if (import.meta.url.endsWith('.ts')) {
    const source = new URL(`./${name}.ts`, import.meta.url).href
    const code = `import('tsx/esm/api').then((tsx) => { tsx.register(); return import(${JSON.stringify(source)}) })`
    return new Worker(code, { eval: true, workerData })
  }
  for (const place of ['./controller', '../controller', '.']) {
    const file = new URL(`${place}/${name}.js`, import.meta.url)
    if (existsSync(fileURLToPath(file))) return new Worker(file, { workerData })
  }
  throw new HorizonError('ERR_CONTROLLER_WORKER', `the ${name} is missing from this installation`, {
    hint: 'Install the package again',
  })
}
