/**
 * @module
 * Times of steps on the GPU by events, so that the host's own jitter is not in them.
 */

import { HorizonError } from '../core/errors.js'
import { CU } from './abi.js'
import type { CudaLibrary } from './cuda.js'
import { closedStageError } from './kernel-module.js'

/** A row of events around consecutive steps of one stream. */
export interface StepTimer {
  /** Records the boundary before the first step or after the next one. The stream's context must be current. */
  mark(stream: bigint): void
  /** Waits for the last boundary and returns the time of each step between boundaries, ms. */
  finish(): number[]
  close(): void
}

/** `maxSteps` steps need one event more. The events belong to the context current at this call. */
export function createStepTimer(cuda: CudaLibrary, maxSteps: number): StepTimer {
  const events: bigint[] = []
  const close = (): void => {
    for (const event of events.splice(0)) cuda.raw('cuEventDestroy_v2')(event)
  }
  try {
    for (let i = 0; i <= maxSteps; i++) {
      cuda.call('cuEventCreate', cuda.out.pointer, CU.CU_EVENT_DEFAULT)
      events.push(cuda.out.u64[0] as bigint)
    }
  } catch (error) {
    close()
    throw error
  }
  let marks = 0
  return {
    mark(stream) {
      const event = events[marks]
      if (event === undefined)
        throw events.length === 0 ? closedStageError() : tooManySteps(maxSteps)
      cuda.call('cuEventRecord', event, stream)
      marks += 1
    },
    finish() {
      if (events.length === 0) throw closedStageError()
      const times: number[] = []
      if (marks > 0) cuda.call('cuEventSynchronize', events[marks - 1] as bigint)
      for (let i = 1; i < marks; i++) {
        cuda.call(
          'cuEventElapsedTime',
          cuda.out.pointer,
          events[i - 1] as bigint,
          events[i] as bigint,
        )
        times.push(cuda.out.f32[0] as number)
      }
      marks = 0
      return times
    },
    close,
  }
}

function tooManySteps(maxSteps: number): HorizonError {
  return new HorizonError('ERR_GPU_STEPS', 'the timer has no event left', {
    expected: `at most ${maxSteps} steps between two calls of finish()`,
  })
}

/** Quantile by the nearest rank of unsorted values; `NaN` of none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return (
    sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN
  )
}
