/**
 * @module
 * The collector: runs each class alone and sweeps SM counts on any runtime that offers the two verbs below, and returns what
 * `calibrate` reads. The simulated runtime offers them (`simulated-target.ts`); an engine behind the in-process adapter does by
 * sending itself one request at a time.
 */
import type { SmSweepRow } from './sm-sweep.js'
import type { SoloRecord } from './solo-record.js'

export interface CalibrationTarget {
  readonly totalSms: number
  /** Classes that the runtime serves. */
  readonly classes: readonly string[]
  /** Runs up to `count` requests of one class, one at a time, nothing else on the GPU. */
  runAlone(className: string, count: number): readonly SoloRecord[]
  /** Holds the shared stage to `sms` and measures decode alone, then short requests beside a busy downstream stage. */
  runAtSms(sms: number): SmSweepRow
}

export interface CollectOptions {
  /** @default 200 */
  readonly requestsPerClass?: number
  /** SM counts to sweep. @default every sixteenth of the GPU, and the whole of it */
  readonly sms?: readonly number[]
  /** What is being measured, and the share in [0, 1] that is done. */
  readonly onProgress?: (what: string, share: number) => void
}

export interface Collected {
  readonly solo: readonly SoloRecord[]
  readonly sweep: readonly SmSweepRow[]
}

export function collect(target: CalibrationTarget, options: CollectOptions = {}): Collected {
  const solo: SoloRecord[] = []
  const sweep: SmSweepRow[] = []
  const counts = options.sms ?? sixteenths(target.totalSms)
  const total = target.classes.length + counts.length
  for (const [done, name] of target.classes.entries()) {
    options.onProgress?.(`class ${name} alone`, done / total)
    solo.push(...target.runAlone(name, options.requestsPerClass ?? 200))
  }
  for (const [done, sms] of counts.entries()) {
    options.onProgress?.(`${sms} SMs`, (target.classes.length + done) / total)
    sweep.push(target.runAtSms(sms))
  }
  return { solo, sweep }
}

/** Even counts: SMs come in pairs on every GPU that has green contexts. */
function sixteenths(totalSms: number): number[] {
  const counts = Array.from({ length: 15 }, (_, i) => Math.round(((i + 1) * totalSms) / 32) * 2)
  return [...new Set([...counts.filter((sms) => sms > 0 && sms < totalSms), totalSms])]
}
