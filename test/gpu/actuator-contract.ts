/**
 * @module
 * What every actuator behind the port keeps to: what was applied is what is read back, and a row that is not there changes nothing.
 */
import { expect, test } from 'vitest'
import type { Actuator } from '../../src/core/ports.js'
import { createRng } from '../../src/sim/rng.js'
import { thrown } from './open-double.js'

/** One actuator on its hardware, or on the double of it. */
export interface ActuatorCase {
  readonly actuator: Actuator
  readonly numRows: number
  close(): void
}

/** Registers the contract for actuators that switch while they run. */
export function actuatorContract(open: () => ActuatorCase): void {
  test('reads back the row applied last, in any order', () => {
    const { actuator, numRows, close } = open()
    const rng = createRng(11)
    for (let i = 0; i < 50; i++) {
      const level = Math.floor(rng.next() * numRows)
      actuator.apply(level)
      expect(actuator.readBack()).toBe(level)
    }
    close()
  })

  test('refuses a row that is not there, and stays at the one it has', () => {
    const { actuator, numRows, close } = open()
    actuator.apply(numRows - 1)
    for (const level of [-1, numRows, 1.5, Number.NaN])
      expect(thrown(() => actuator.apply(level))).toMatchObject({ code: 'ERR_GPU_LEVELS' })
    expect(actuator.readBack()).toBe(numRows - 1)
    close()
  })
}
