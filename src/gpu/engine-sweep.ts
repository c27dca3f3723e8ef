/**
 * @module
 * The sweep on a real engine: for each fixed cap, decode time per token alone and the first response of short requests while a long
 * one co-runs. How a cap comes into force is the engine's matter (its own restart, our controller with a fixed cap), so it is a callback.
 */
import type { EngineProbe } from './engine-probe.js'
import { quantile } from './step-timer.js'
import { emptyRecord, type SweepRecord } from './sweep-csv.js'

/** What to measure. */
export interface EngineSweepOptions {
  /** Caps of the shared stage, SMs. */
  readonly caps: readonly number[]
  /** SMs of the GPU, for the other side's share. @default unknown */
  readonly totalSms?: number
  /** Measurements per cap. @default 10 */
  readonly repeats?: number
  /** Puts a cap into force and returns when it is. */
  readonly applyCap: (sms: number) => Promise<void>
  /** Reads pressure after each short request while the long one runs; the median is kept. @default unknown */
  readonly readPressure?:
    | (() => { readonly value: number; readonly kind: string } | undefined)
    | undefined
  readonly onRow?: (record: SweepRecord, done: number, total: number) => void
}

/** Measures each cap in the order given; one warm-up request per cap is not counted. */
export async function sweepEngine(
  engine: EngineProbe,
  options: EngineSweepOptions,
): Promise<SweepRecord[]> {
  const repeats = options.repeats ?? 10
  const records: SweepRecord[] = []
  for (const [i, sms] of options.caps.entries()) {
    await options.applyCap(sms)
    await engine.decodeTpotMs()
    const tpots: number[] = []
    for (let n = 0; n < repeats; n++) tpots.push(await engine.decodeTpotMs())
    const readings: number[] = []
    let pressureKind = ''
    const ttfts = await engine.ttftBesideLong(repeats, () => {
      const reading = options.readPressure?.()
      if (reading === undefined) return
      readings.push(reading.value)
      pressureKind = reading.kind
    })
    const total = options.totalSms
    const record: SweepRecord = {
      ...emptyRecord(sms, 'co-running', total === undefined ? Number.NaN : total - sms),
      tpotMs: quantile(tpots, 0.5),
      tpotP95Ms: quantile(tpots, 0.95),
      coRunTtftMs: quantile(ttfts, 0.5),
      coRunTtftP95Ms: quantile(ttfts, 0.95),
      pressure: quantile(readings, 0.5),
      pressureKind,
    }
    records.push(record)
    options.onRow?.(record, i + 1, options.caps.length)
  }
  return records
}
