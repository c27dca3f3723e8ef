/**
 * @module
 * Suites that need the doubles.
 */
import { describe } from 'vitest'
import { hasCompiler } from './build.js'

/** A suite that needs the doubles; where they cannot be compiled it is skipped, and its name says why. */
export function describeDouble(name: string, run: () => void): void {
  const reason = hasCompiler ? '' : ' [skipped: gcc and g++ are not there to compile the doubles]'
  describe.skipIf(!hasCompiler)(`${name}${reason}`, run)
}
