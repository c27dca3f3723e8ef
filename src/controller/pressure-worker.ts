/**
 * @module
 * Asks the GPU for its pressure in a thread of its own, at the configured cadence, and puts what it learns into the cell.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { PressureSample } from '../core/ports.js'
import { createPressureSource, type GpuPressureSource } from '../gpu/pressure-source.js'
import { monotonicNs } from './monotonic-clock.js'
import { openPressure, type PressureSettings } from './open-pressure.js'
import { pressureWriter } from './pressure-cell.js'

/** How often a lost source is tried again, ms. */
const REOPEN_MS = 10_000

/** What the main thread hands over. */
export interface PressureWorkerData {
  readonly settings: PressureSettings
  readonly cell: SharedArrayBuffer
}

/** What the worker says: whether it has a source, and each outage once. */
export type PressureMessage =
  | { readonly kind: 'opened'; readonly text: string }
  | { readonly kind: 'refused'; readonly text: string }
  | { readonly kind: 'failed'; readonly text: string }

function main({ settings, cell }: PressureWorkerData): void {
  const tell = (message: PressureMessage): void => parentPort?.postMessage(message)
  const writer = pressureWriter(cell)
  const open = (): GpuPressureSource => {
    const { probe, gpu } = openPressure(settings)
    const opened = createPressureSource(probe, {
      onFailure: (text) => tell({ kind: 'failed', text }),
    })
    tell({
      kind: 'opened',
      text: `${probe.name} (${probe.kind}) of ${gpu}, every ${settings.everyMs} ms`,
    })
    return opened
  }
  let source: GpuPressureSource
  try {
    source = open()
  } catch (error) {
    tell({ kind: 'refused', text: error instanceof Error ? error.message : String(error) })
    return
  }
  let triedMs = 0
  /** A driver that was lost may come back: restarted, or its GPU reset. */
  const reopen = (nowMs: number): void => {
    if (triedMs === 0) triedMs = nowMs
    if (nowMs - triedMs < REOPEN_MS) return
    triedMs = nowMs
    try {
      const next = open()
      source.close()
      source = next
      triedMs = 0
    } catch {
      // It was said when it failed.
    }
  }
  const out: PressureSample = { value: 0, kind: '', timestampMs: 0, source: '' }
  const ask = (): void => {
    const nowMs = Number(monotonicNs()) / 1e6
    if (source.hasEnded()) reopen(nowMs)
    if (source.sample(out)) writer.write(out, nowMs)
    else writer.clear()
  }
  ask()
  const timer = setInterval(ask, settings.everyMs)
  parentPort?.once('message', () => {
    clearInterval(timer)
    source.close()
    writer.clear()
  })
}

main(workerData as PressureWorkerData)
