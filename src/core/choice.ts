/**
 * @module
 * What a step picks by deadline: the members of limited groups, and the rescued request. Made once per step, on first need; who is
 * chosen is stamped with the step.
 */
import { type Groups, LIMITED, SHOWN } from './groups.js'
import type { Merge } from './merge.js'
import { LONG, SHORT } from './request-class.js'
import {
  CHUNK_BITS,
  CHUNK_MASK,
  LOST,
  ORDINARY,
  PROTECTED,
  type RequestTable,
  WAITING,
} from './request-table.js'
import type { Status } from './signals.js'
import { URGENT } from './waiting-lists.js'
import type { WaitingSet } from './waiting-set.js'

export interface Choice {
  /** The step that it is of. */
  step: number
  /** The rescued request, or -1; and whether it would be hidden without. */
  rescued: number
  rescuedWasHidden: boolean
  begin(step: number): void
  /** Makes the choice unless it is made. @hot */
  make(): void
  /** Whether a slot is still that of a chosen request that waits. */
  holds(slot: number): boolean
  /** Adds what was chosen of the demoted, or of all others, and still waits, to a merge. @hot */
  addTo(merge: Merge, demoted: boolean): void
}

/** `byDeadline` is cleared and read whenever a choice is made. */
export function createChoice(
  { chunks }: RequestTable,
  waiting: WaitingSet,
  groups: Groups,
  byDeadline: Merge,
): Choice {
  const { verdict, limits } = groups
  const { heaps } = waiting
  /** Slots chosen, demoted ones last; the array only grows. */
  const chosen: number[] = []
  let numChosen = 0
  let numInOrder = 0
  let isMade = true

  const stamp = (slot: number): void => {
    chunks[slot >> CHUNK_BITS]!.chosenAt[slot & CHUNK_MASK] = choice.step
  }

  const chooseWithin = (onPath: number, status: Status): void => {
    let left = limits[onPath * 3 + status]!
    if (left <= 0) return
    if (groups.verdictOf[onPath * 3 + status] !== LIMITED) return
    const segment = status === PROTECTED ? URGENT : status
    if (segment !== LOST) waiting.track(onPath, segment)
    byDeadline.clear()
    byDeadline.pick(LIMITED, status, status)
    byDeadline.open(heaps.of(onPath, segment))
    for (; left > 0; left--) {
      const slot = byDeadline.take()
      if (slot === -1) return
      chosen[numChosen++] = slot
      stamp(slot)
    }
  }

  const rescue = (): void => {
    byDeadline.clear()
    for (let onPath = SHORT; onPath <= LONG; onPath++) byDeadline.open(heaps.of(onPath, LOST))
    const slot = byDeadline.take()
    if (slot === -1) return
    const chunk = chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    choice.rescued = slot
    choice.rescuedWasHidden =
      verdict[chunk.classIndex[i]! * 3 + LOST] !== SHOWN && chunk.chosenAt[i] !== choice.step
    stamp(slot)
  }

  const choice: Choice = {
    step: -1,
    rescued: -1,
    rescuedWasHidden: false,
    begin(step) {
      choice.step = step
      isMade = false
    },
    make() {
      if (isMade) return
      isMade = true
      numChosen = 0
      choice.rescued = -1
      choice.rescuedWasHidden = false
      chooseWithin(SHORT, ORDINARY)
      chooseWithin(LONG, ORDINARY)
      chooseWithin(SHORT, PROTECTED)
      chooseWithin(LONG, PROTECTED)
      for (let onPath = SHORT; onPath <= LONG; onPath++)
        if (!groups.demotes(onPath)) chooseWithin(onPath, LOST)
      numInOrder = numChosen
      for (let onPath = SHORT; onPath <= LONG; onPath++)
        if (groups.demotes(onPath)) chooseWithin(onPath, LOST)
      if (groups.rescues) rescue()
    },
    holds(slot) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      return chunk.state[i] === WAITING && chunk.chosenAt[i] === choice.step
    },
    addTo(merge, demoted) {
      const end = demoted ? numChosen : numInOrder
      for (let k = demoted ? numInOrder : 0; k < end; k++)
        if (choice.holds(chosen[k]!)) merge.add(chosen[k]!)
    },
  }
  return choice
}
