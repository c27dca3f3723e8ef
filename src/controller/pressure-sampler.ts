/**
 * @module
 * Memory pressure for a controller: the thread that asks the GPU, the cell it fills, and the one line that says what there is. Without
 * pressure the cap follows downstream activity alone: the aggressive row, or the lowest of the ladder while a later stage works.
 */
import type { Worker } from 'node:worker_threads'
import type { HorizonConfig } from '../config.js'
import { PRESSURE_SOURCES, type PressureSettings } from './open-pressure.js'
import { openWorker } from './open-worker.js'
import { createPressureCell } from './pressure-cell.js'
import type { PressureMessage, PressureWorkerData } from './pressure-worker.js'

/** What `--pressure` takes. */
export const PRESSURE_CHOICES = ['auto', ...PRESSURE_SOURCES, 'none'] as const
export type PressureChoice = (typeof PRESSURE_CHOICES)[number]

/** How often the GPU is asked, ms; NVML renews its numbers every 1/6 to 1 s. */
const DEFAULT_EVERY_MS = 100
/** A reading stands for so long without the asking thread's word, ms. */
const SILENCE_MS = 2000
const STOP_MS = 500

/** A running sampler. */
export interface PressureSampler {
  readonly cell: SharedArrayBuffer
  /** A reading that nobody confirmed for so long is none, ms. */
  readonly staleAfterMs: number
  close(): Promise<void>
}

/** What a configuration asks for; `undefined`: no pressure. Without a ladder there is nothing that it could decide. */
export function pressureSettings(
  config: HorizonConfig,
  choice: PressureChoice | undefined,
): PressureSettings | undefined {
  const { pressure } = config
  const given = pressure === false ? undefined : pressure
  const isWanted = config.ladder !== undefined || given !== undefined
  const source = choice ?? (pressure === false || !isWanted ? 'none' : (given?.source ?? 'auto'))
  if (source === 'none') return undefined
  return { source, device: given?.device ?? 0, everyMs: given?.everyMs ?? DEFAULT_EVERY_MS }
}

/** Starts sampling; never throws, for an engine is steered without pressure too. */
export function startPressureSampler(
  settings: PressureSettings,
  log: (level: 'info' | 'warn', text: string) => void,
  workerFolder?: URL,
): PressureSampler {
  const cell = createPressureCell()
  const staleAfterMs = SILENCE_MS + settings.everyMs
  const without = (why: string): void =>
    log(
      'warn',
      `no memory pressure (${why.replaceAll('\n', ' ')}): while a later stage works, the cap is the lowest level of the ladder`,
    )
  let worker: Worker | undefined
  try {
    const data: PressureWorkerData = { settings, cell }
    worker = openWorker('pressure-worker', data, workerFolder)
  } catch (error) {
    without((error as Error).message)
    return { cell, staleAfterMs, close: async () => {} }
  }
  // A thread that hangs in a driver must not keep the process.
  worker.unref()
  worker.on('message', ({ kind, text }: PressureMessage) => {
    if (kind === 'opened') log('info', `memory pressure by ${text}`)
    else if (kind === 'refused') without(text)
    else log('warn', `memory pressure: ${text}`)
  })
  worker.on('error', (error) => without(error.message))
  const asking = worker
  const ended = new Promise<void>((resolve) => asking.once('exit', () => resolve()))
  return {
    cell,
    staleAfterMs,
    async close() {
      let bound: NodeJS.Timeout | undefined
      const late = new Promise<void>((resolve) => {
        bound = setTimeout(resolve, STOP_MS)
      })
      asking.postMessage('stop')
      await Promise.race([ended, late])
      clearTimeout(bound)
      void asking.terminate()
    },
  }
}
