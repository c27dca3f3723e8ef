/**
 * @module
 * The sweep from start to end on a real or doubled driver: device, ladder, stages, pressure, rows, and everything closed again.
 */

import type { PressureSample } from '../core/ports.js'
import type { CudaOptions } from './cuda.js'
import { initCuda, openCuda } from './cuda.js'
import { openDevice } from './device.js'
import { createGpmBandwidthProbe, supportsGpm } from './gpm-bandwidth.js'
import { createGpuStages, type GpuStagesOptions } from './gpu-stages.js'
import { createGreenContextLadder } from './green-context-ladder.js'
import type { LadderDescription } from './ladder-description.js'
import type { DroppedLevel } from './ladder-plan.js'
import { spreadLevels } from './ladder-plan.js'
import { nvmlDeviceOfCuda } from './mig.js'
import { initNvml, type NvmlOptions, openNvml } from './nvml.js'
import { createNvmlSamplesProbe } from './nvml-samples.js'
import { createPressureSource, type GpuPressureSource } from './pressure-source.js'
import { type SweepRow, sweepLadder } from './sweep.js'
import { emptyRecord, type SweepRecord } from './sweep-csv.js'

/** What to measure on which GPU. */
export interface GpuSweepOptions {
  readonly cuda?: CudaOptions
  readonly nvml?: NvmlOptions
  /** @default 0 */
  readonly device?: number
  /** Wanted SM counts. @default `numLevels` spread over the device */
  readonly levels?: readonly number[]
  /** @default 5 */
  readonly numLevels?: number
  readonly steps?: number
  readonly seed?: number
  readonly stages?: GpuStagesOptions
  readonly onRow?: (record: SweepRecord, done: number, total: number) => void
  /** Told once when pressure cannot be read; the column then stays empty. */
  readonly onWarning?: (message: string) => void
}

/** What was measured, and on what. */
export interface GpuSweepResult {
  readonly device: string
  readonly uuid: string
  readonly totalSms: number
  readonly dropped: readonly DroppedLevel[]
  readonly ladder: LadderDescription
  readonly records: readonly SweepRecord[]
}

/** Runs the sweep. @throws the errors of driver, device and ladder; nothing is left open */
export function runGpuSweep(options: GpuSweepOptions = {}): GpuSweepResult {
  const cuda = openCuda(options.cuda)
  initCuda(cuda)
  const device = openDevice(cuda, options.device ?? 0)
  const undo: (() => void)[] = []
  try {
    const ladder = createGreenContextLadder(cuda, device, {
      levels: options.levels ?? spreadLevels(device.numSms, options.numLevels ?? 5),
    })
    undo.push(ladder.close)
    cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'shared'))
    const stream = ladder.stream(ladder.offIndex, 'shared')
    const stages = createGpuStages(cuda, device, stream, options.stages)
    undo.push(stages.close)
    const pressure = openPressure(device.uuid, options)
    if (pressure !== undefined) undo.push(() => pressure.close())
    const observer = pressure === undefined ? undefined : createObserver(pressure)
    const byIndex: SweepRecord[] = []
    sweepLadder(cuda, ladder, stages, {
      steps: options.steps ?? 60,
      seed: options.seed ?? 1,
      observe: observer?.observe,
      onRow(row, done, total) {
        const record = recordOf(row, observer?.take())
        byIndex[row.index] = record
        options.onRow?.(record, done, total)
      },
    })
    // An aggressive row of every SM is the same as `off`, and once is enough.
    const records = byIndex.filter(
      (_, i) => i !== ladder.aggressiveIndex || ladder.rows[i]?.method !== 'whole',
    )
    if (!records.every((record) => Number.isFinite(record.pressure)))
      options.onWarning?.('pressure was not measured on every row: calibrate needs that column')
    return {
      device: device.name,
      uuid: device.uuid,
      totalSms: ladder.totalSms,
      dropped: ladder.dropped,
      ladder: ladder.describe(),
      records,
    }
  } finally {
    for (const step of undo.reverse()) step()
  }
}

/** Waits for the second new reading: the period of the first may reach back before both stages ran. */
function createObserver(source: GpuPressureSource): {
  observe(): boolean
  take(): PressureSample | undefined
} {
  const out: PressureSample = {
    value: 0,
    kind: '',
    timestampMs: Number.NEGATIVE_INFINITY,
    source: '',
  }
  let seen = -1
  let last = Number.NEGATIVE_INFINITY
  return {
    observe() {
      if (source.sample(out) && (seen < 0 || out.timestampMs > last)) {
        seen += 1
        last = out.timestampMs
      }
      return seen >= 2
    },
    take() {
      const isEnough = seen >= 2
      seen = -1
      return isEnough ? out : undefined
    },
  }
}

/** DRAM bandwidth where the GPU has it, else memory activity. */
function openPressure(uuid: string, options: GpuSweepOptions): GpuPressureSource | undefined {
  try {
    const nvml = openNvml(options.nvml)
    initNvml(nvml)
    const handle = nvmlDeviceOfCuda(nvml, uuid)
    const probe = supportsGpm(nvml, handle)
      ? createGpmBandwidthProbe(nvml, handle)
      : createNvmlSamplesProbe(nvml, handle)
    return createPressureSource(
      probe,
      options.onWarning === undefined ? {} : { onFailure: options.onWarning },
    )
  } catch (error) {
    options.onWarning?.(`no pressure: ${(error as Error).message}`)
    return
  }
}

function recordOf(row: SweepRow, pressure: PressureSample | undefined): SweepRecord {
  return {
    ...emptyRecord(row.sharedSms, row.kind, row.downstreamSms),
    tpotMs: row.sharedAloneMs,
    tpotP95Ms: row.sharedAloneP95Ms,
    coRunTpotMs: row.sharedCoRunMs,
    coRunTpotP95Ms: row.sharedCoRunP95Ms,
    coRunTtftMs: row.sharedCoRunMs,
    coRunTtftP95Ms: row.sharedCoRunP95Ms,
    downstreamMs: row.downstreamAloneMs,
    coRunDownstreamMs: row.downstreamCoRunMs,
    gbPerSec: row.aloneGbPerSec,
    coRunGbPerSec: row.coRunGbPerSec,
    pressure: pressure?.value ?? Number.NaN,
    pressureKind: pressure?.kind ?? '',
  }
}
