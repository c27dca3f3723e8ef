/**
 * @module
 * The sweep from start to end on a real or doubled driver: device, ladder, stages, pressure, rows, and everything closed again.
 */
import type { CudaOptions } from './cuda.js'
import { initCuda, openCuda } from './cuda.js'
import { openDevice } from './device.js'
import { createGpmBandwidthProbe, supportsGpm } from './gpm-bandwidth.js'
import { createGpuStages, type GpuStagesOptions } from './gpu-stages.js'
import { createGreenContextLadder } from './green-context-ladder.js'
import type { LadderDescription } from './ladder-description.js'
import type { DroppedLevel } from './ladder-plan.js'
import { spreadLevels } from './ladder-plan.js'
import { initNvml, type NvmlOptions, nvmlDeviceByUuid, openNvml } from './nvml.js'
import { createNvmlSamplesProbe } from './nvml-samples.js'
import type { PressureSample } from './ports.js'
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
    const out: PressureSample = { value: 0, kind: '', timestampMs: 0, source: '' }
    const records: SweepRecord[] = new Array(ladder.rows.length)
    sweepLadder(cuda, ladder, stages, {
      steps: options.steps ?? 60,
      seed: options.seed ?? 1,
      onRow(row, done, total) {
        const record = recordOf(row, pressure?.sample(out) === true ? out : undefined)
        records[row.index] = record
        options.onRow?.(record, done, total)
      },
    })
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

/** DRAM bandwidth where the GPU has it, else memory activity. The number lags by its period: a row's belongs to its end. */
function openPressure(uuid: string, options: GpuSweepOptions): GpuPressureSource | undefined {
  try {
    const nvml = openNvml(options.nvml)
    initNvml(nvml)
    const handle = nvmlDeviceByUuid(nvml, uuid)
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
    downstreamMs: row.downstreamAloneMs,
    coRunDownstreamMs: row.downstreamCoRunMs,
    gbPerSec: row.aloneGbPerSec,
    coRunGbPerSec: row.coRunGbPerSec,
    pressure: pressure?.value ?? Number.NaN,
    pressureKind: pressure?.kind ?? '',
  }
}
