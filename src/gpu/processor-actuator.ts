/**
 * @module
 * A share of processor time for a stage's processes, by a control group of Linux: a real actuator on machines without a GPU. The ladder's
 * unit is hundredths of a processor, so that two whole ones are 200. Holds for every thread of the group, whatever it runs.
 */
import { closeSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expectInteger, expectNumber, HorizonError } from '../core/errors.js'
import type { Actuator } from '../core/ports.js'

/** The kernel grants no slice shorter than 1 ms (sched/fair.c, min_cfs_quota_period). */
const LEAST_QUOTA_US = 1000

/** What the actuator bounds, and by how much. */
export interface ProcessorActuatorOptions {
  /** Folder of the group that the stage's processes are in: under `/sys/fs/cgroup/cpu` (version 1) or `/sys/fs/cgroup` (version 2). */
  readonly group: string
  /** Processor time per row, hundredths of a processor: the ladder's `sms`. 0: without bound. */
  readonly hundredths: ArrayLike<number>
  /** Time over which the share is granted, ms, 5 to 100. Short ones hurt less: a group that is out of time waits for the next. @default 10 */
  readonly periodMs?: number
}

/** An actuator with an open file behind it. */
export interface ProcessorActuator extends Actuator {
  /** Takes the bound off and closes the file. Idempotent. */
  close(): void
}

/**
 * Opens the group. Nothing is bounded before the first `apply`.
 * @throws `ERR_GPU_PROCESSOR_GROUP` where the folder is no group with processor time, or may not be written
 * @throws `ERR_GPU_LEVELS` for rows that cannot be
 */
export function createProcessorActuator(options: ProcessorActuatorOptions): ProcessorActuator {
  const { group } = options
  const periodMs = options.periodMs ?? 10
  expectNumber('ERR_GPU_LEVELS', 'periodMs', periodMs, 5, 100)
  const periodUs = Math.round(periodMs * 1000)
  const quotas = Array.from(options.hundredths, (hundredths, i) => {
    expectInteger('ERR_GPU_LEVELS', `hundredths[${i}]`, hundredths, 0, 100_000)
    const quotaUs = Math.round((hundredths / 100) * periodUs)
    if (hundredths > 0 && quotaUs < LEAST_QUOTA_US)
      throw new HorizonError('ERR_GPU_LEVELS', 'a share that the kernel does not grant', {
        field: `hundredths[${i}]`,
        expected: `at least ${Math.ceil((LEAST_QUOTA_US * 100) / periodUs)} with a period of ${periodMs} ms`,
        got: hundredths,
      })
    return quotaUs
  })
  const isSecond = existsSync(join(group, 'cpu.max'))
  const path = join(group, isSecond ? 'cpu.max' : 'cpu.cfs_quota_us')
  const texts = quotas.map((quotaUs) => textOf(quotaUs, periodUs, isSecond))
  let file: number
  try {
    if (!isSecond) writeFileSync(join(group, 'cpu.cfs_period_us'), String(periodUs))
    file = openSync(path, 'r+')
  } catch (error) {
    throw new HorizonError('ERR_GPU_PROCESSOR_GROUP', `processor time of ${group} cannot be set`, {
      field: 'group',
      expected: 'a folder with cpu.max or cpu.cfs_quota_us that this user may write',
      got: (error as Error).message,
      hint: 'Make a group for the stage (mkdir under /sys/fs/cgroup), and put its process in (cgroup.procs)',
    })
  }
  let isClosed = false
  const write = (text: string): void => {
    try {
      writeSync(file, text, 0)
    } catch (error) {
      throw new HorizonError('ERR_GPU_PROCESSOR_GROUP', `the kernel refuses ${text} for ${path}`, {
        got: (error as Error).message,
        hint: 'A group cannot have more than the one above it, and one that was removed cannot be bounded',
      })
    }
  }
  return {
    name: 'processors',
    apply(level) {
      const text = texts[level]
      if (isClosed || text === undefined)
        throw new HorizonError(isClosed ? 'ERR_GPU_LADDER_CLOSED' : 'ERR_GPU_LEVELS', 'no row', {
          field: 'level',
          expected: isClosed ? 'an open actuator' : `0 to ${texts.length - 1}`,
          got: level,
        })
      write(text)
    },
    readBack() {
      if (isClosed) return -1
      try {
        return texts.indexOf(readFileSync(path, 'utf8').trim())
      } catch {
        return -1
      }
    },
    close() {
      if (isClosed) return
      try {
        write(textOf(0, periodUs, isSecond))
      } catch {
        // A group that is gone bounds nobody.
      }
      isClosed = true
      closeSync(file)
    },
  }
}

/** What the kernel's file takes, and gives back. */
function textOf(quotaUs: number, periodUs: number, isSecond: boolean): string {
  if (isSecond) return `${quotaUs === 0 ? 'max' : quotaUs} ${periodUs}`
  return quotaUs === 0 ? '-1' : String(quotaUs)
}
