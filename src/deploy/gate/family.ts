/**
 * @module
 * The error of a whole family of candidates. Each measured candidate is screened, and only a screened one is confirmed, on
 * fresh runs. A false candidate passes both with at most `screenAlpha * confirmAlpha`, so that product is what measuring it
 * costs, paid before the first run from the family's declared error. However many candidates are tried, in whatever order
 * and for whatever reason, the sum of the payments, and with it the chance of one false acceptance or more, stays below it.
 */
import type { GateDeclaration } from './declaration.js'

/** Level of the confirmation of the `index`-th candidate measured in a family (from 0). */
export function confirmAlpha(gate: GateDeclaration, index: number): number {
  const full = gate.screenAlpha * Math.min(gate.familyAlpha, 0.05)
  let left = gate.familyAlpha
  for (let i = 0; ; i++) {
    // Full price while more than twice that is left, then half of the rest each time: it never runs out, it gets dear.
    const price = left > 2 * full ? full : left / 2
    if (i === index) return price / gate.screenAlpha
    left -= price
  }
}

/** What is left of the family's error after `measured` candidates. */
export function familyAlphaLeft(gate: GateDeclaration, measured: number): number {
  let left = gate.familyAlpha
  for (let i = 0; i < measured; i++) left -= confirmAlpha(gate, i) * gate.screenAlpha
  return left
}
