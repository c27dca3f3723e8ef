/**
 * @module
 * Keeps the doorbell worker off the engine's processor. Linux likes to wake who is woken beside the waker, and there the worker waits until
 * the engine goes to sleep, which is just what an engine that looks for its answer does not do.
 */
import { readFileSync } from 'node:fs'
import { allowedProcessors, keepToProcessors } from '../native/affinity.js'

/** Place of `processor` behind the name in `/proc/<pid>/stat` (proc(5), field 39; the name is field 2). */
const PROCESSOR = 36

export interface KeepOff {
  /** Whether the calling thread was last kept off the engine's processor. */
  readonly isApart: boolean
  /** Looks where the main thread of the engine's process ran last, and moves the calling thread away when that is news. */
  renew(pid: number): void
}

/** For the thread that calls it. `processorOf` says where a process ran last, or undefined. */
export function createKeepOff(processorOf = lastProcessorOf): KeepOff {
  const allowed = allowedProcessors()
  let last: number | undefined
  const keepOff = {
    isApart: false,
    renew(pid: number) {
      const processor = processorOf(pid)
      if (processor === last || allowed === undefined) return
      last = processor
      const mask = allowed.slice()
      if (processor !== undefined) mask[processor >> 3]! &= ~(1 << (processor & 7))
      // With one processor there is nowhere to go, and without knowing better the kernel decides.
      const isElsewhere = processor !== undefined && mask.some((byte) => byte !== 0)
      keepOff.isApart = keepToProcessors(isElsewhere ? mask : allowed) && isElsewhere
    },
  }
  return keepOff
}

function lastProcessorOf(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const processor = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[PROCESSOR])
    return Number.isInteger(processor) && processor >= 0 && processor < 1024 ? processor : undefined
  } catch {
    return undefined
  }
}
