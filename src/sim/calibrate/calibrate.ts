/**
 * @module
 * Offline preprocessing (paper, section 4.2): from solo latencies and an SM sweep to the SLO table, the stage profiles, the ladder and
 * Bsat. It knows nothing of where the files come from: a GPU or the simulator.
 */
import { HorizonError } from '../../core/index.js'
import { modalityClass } from '../omni/modality-class.js'
import { percentile } from '../percentile.js'
import type { CalibratedClass, Calibration } from './calibration.js'
import { chooseLadder, type LadderOptions } from './choose-ladder.js'
import { fitProfile } from './fit-profile.js'
import type { SmSweepRow } from './sm-sweep.js'
import type { SoloRecord } from './solo-record.js'

export interface CalibrateOptions extends LadderOptions {
  readonly totalSms: number
  /** SLO over solo p95, for all classes (paper: 5) or by class. @default 5 */
  readonly multiplier?: number
  readonly multipliers?: Readonly<Record<string, number>>
}

export interface CalibrateResult extends Calibration {
  readonly reason: string
}

/** Class names must say their modalities (`a2t`): that is where path and priority come from. */
export function calibrate(
  solo: readonly SoloRecord[],
  sweep: readonly SmSweepRow[],
  options: CalibrateOptions,
): CalibrateResult {
  const byClass = new Map<string, SoloRecord[]>()
  for (const record of solo) {
    const records = byClass.get(record.class)
    if (records === undefined) byClass.set(record.class, [record])
    else records.push(record)
  }
  const classes = [...byClass].map(([name, records]): CalibratedClass => {
    const { path, priority } = modalityClass(name)
    const sorted = Float64Array.from(records, (of) => of.firstResponseMs).sort()
    const soloP95Ms = percentile(sorted, 0.95)
    const multiplier = options.multipliers?.[name] ?? options.multiplier ?? 5
    if (!(multiplier > 0 && Number.isFinite(multiplier))) {
      throw new HorizonError('ERR_SIM_MULTIPLIER', 'impossible SLO multiplier', {
        field: name,
        expected: 'a finite number above 0',
        got: multiplier,
      })
    }
    if (!(soloP95Ms > 0)) {
      throw new HorizonError('ERR_SIM_SOLO_EMPTY', 'all solo latencies are 0', { field: name })
    }
    return {
      name,
      path,
      priority,
      soloP95Ms,
      sloMs: soloP95Ms * multiplier,
      profile: fitProfile(records),
      samples: records.length,
    }
  })
  const { ladder, saturation, reason } = chooseLadder(sweep, options.totalSms, options)
  return { classes, ladder, saturation, reason }
}
