/**
 * @module
 * The actuator of a process that launches its own kernels: a switch makes one pre-built context current on this thread.
 * Libraries that rebind the thread to the primary context (NCCL, some allocators) undo it: `readBack` tells.
 */
import { HorizonError } from '../core/errors.js'
import type { Actuator } from '../core/ports.js'
import type { CudaLibrary } from './cuda.js'
import { closedError, type GreenContextLadder, levelError } from './green-context-ladder.js'
import type { Side } from './ladder-row.js'

/** The port over one side of a ladder. Rows are those of the ladder, `off` included. */
export function createGreenContextActuator(
  cuda: CudaLibrary,
  ladder: GreenContextLadder,
  side: Side,
): Actuator {
  // Resolved once: a ladder without contexts for this side is a mistake to report now.
  const contexts = ladder.rows.map((row) => ladder.context(row.index, side))
  const numRows = contexts.length
  const setCurrent = cuda.raw('cuCtxSetCurrent')
  const getCurrent = cuda.raw('cuCtxGetCurrent')
  const halves = new Int32Array(BigUint64Array.from(contexts).buffer)
  const lows = halves.filter((_, i) => i % 2 === 0)
  const highs = halves.filter((_, i) => i % 2 === 1)
  const { out } = cuda
  let last = -1
  return {
    name: `green-context-${side}`,
    /** @hot */
    apply(level) {
      if (ladder.isClosed()) throw closedError()
      const context = contexts[level]
      if (context === undefined) throw levelError(level, numRows)
      const result = setCurrent(context)
      if (result !== 0) cuda.check('cuCtxSetCurrent', result)
      last = level
    },
    /** @hot Called every step; addresses are compared by signed halves: a BigInt or a large number would be allocated. */
    readBack() {
      if (ladder.isClosed()) throw closedError()
      const result = getCurrent(out.pointer)
      if (result !== 0) cuda.check('cuCtxGetCurrent', result)
      const low = out.i32[0] as number
      const high = out.i32[1] as number
      // The aggressive row may be the primary context, as `off` is: then the row asked for last decides.
      if (last >= 0 && lows[last] === low && highs[last] === high) return last
      for (let i = 0; i < numRows; i++) if (lows[i] === low && highs[i] === high) return i
      return -1
    },
  }
}

/** Checks that the thread still runs in the row applied last. @throws `ERR_GPU_CONTEXT_LOST` where something rebound it */
export function assertInForce(actuator: Actuator, level: number): void {
  const found = actuator.readBack()
  if (found === level) return
  throw new HorizonError('ERR_GPU_CONTEXT_LOST', 'another context is current to this thread', {
    expected: `row ${level}`,
    got: found === -1 ? 'a context outside the ladder' : `row ${found}`,
    hint: 'Apply the row right before every launch: some libraries make the primary context current',
  })
}
