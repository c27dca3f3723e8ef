/**
 * @module
 * One of two processes: builds its side of the rows from a description, meets the other through files, then on every row
 * reports the SMs it ran on and its step times while the other one runs the same row.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { initCuda, openCuda } from '../../src/gpu/cuda.js'
import { openDevice } from '../../src/gpu/device.js'
import { createGpuStages } from '../../src/gpu/gpu-stages.js'
import { createGreenContextLadder } from '../../src/gpu/green-context-ladder.js'
import type { LadderDescription } from '../../src/gpu/ladder-description.js'
import type { Side } from '../../src/gpu/ladder-row.js'
import { createStepTimer, quantile } from '../../src/gpu/step-timer.js'

/** What one process saw on one row. */
export interface ProcessRow {
  readonly index: number
  readonly kind: string
  readonly sms: number
  readonly ids: readonly number[]
  readonly medianMs: number
  readonly p95Ms: number
  readonly steps: number
}

/** What one process saw. */
export interface ProcessReport {
  readonly side: Side
  readonly isMpsClient: boolean | undefined
  readonly hasPartner: boolean
  readonly rows: readonly ProcessRow[]
}

export interface TwoProcessOptions {
  readonly description: LadderDescription
  readonly side: Side
  /** Folder to meet in; undefined runs alone. */
  readonly meeting?: string
  /** Time on each row, ms. */
  readonly rowMs: number
}

const OTHER: Readonly<Record<Side, Side>> = { shared: 'downstream', downstream: 'shared' }

export function runSide(options: TwoProcessOptions): ProcessReport {
  const { side, meeting } = options
  const cuda = openCuda()
  initCuda(cuda)
  const device = openDevice(cuda)
  const ladder = createGreenContextLadder(cuda, device, {
    description: options.description,
    sides: [side],
  })
  cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, side))
  const stages = createGpuStages(cuda, device, ladder.stream(ladder.offIndex, side))
  const stage = side === 'shared' ? stages.memory : stages.compute
  const rows: ProcessRow[] = []
  for (const row of ladder.rows) {
    if (row.kind === 'aggressive') continue
    meet(meeting, side, row.index)
    const stream = ladder.stream(row.index, side)
    cuda.call('cuCtxSetCurrent', ladder.context(row.index, side))
    const ids = stages.probeSms(stream)
    const times: number[] = []
    const endMs = performance.now() + options.rowMs
    while (performance.now() < endMs && times.length < 5000) {
      const timer = createStepTimer(cuda, 20)
      timer.mark(stream)
      for (let i = 0; i < 20; i++) {
        stage.enqueue(stream)
        timer.mark(stream)
      }
      times.push(...timer.finish())
      timer.close()
    }
    // The first and last fifth may lie outside the other's time on this row.
    const middle = times.slice(Math.floor(times.length / 5), Math.ceil((times.length * 4) / 5))
    rows.push({
      index: row.index,
      kind: row.kind,
      sms: side === 'shared' || row.method === 'whole' ? row.sharedSms : row.downstreamSms,
      ids,
      medianMs: quantile(middle, 0.5),
      p95Ms: quantile(middle, 0.95),
      steps: times.length,
    })
    cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, side))
  }
  stages.close()
  ladder.close()
  return { side, isMpsClient: device.isMpsClient, hasPartner: meeting !== undefined, rows }
}

/** Waits until the other process has come as far; gives up after 40 s, since it may have failed. */
function meet(folder: string | undefined, side: Side, point: number): void {
  if (folder === undefined) return
  writeFileSync(join(folder, `${side}-${point}`), '')
  const other = join(folder, `${OTHER[side]}-${point}`)
  const cell = new Int32Array(new SharedArrayBuffer(4))
  for (let waited = 0; !existsSync(other); waited += 2) {
    if (waited > 40_000) throw new Error(`the ${OTHER[side]} process did not come to row ${point}`)
    Atomics.wait(cell, 0, 0, 2)
  }
}
