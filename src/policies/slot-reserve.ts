/**
 * @module
 * Trunk reservation for shared-stage slots, beyond the paper. A request holds its slot for as long as it decodes, which is many times
 * the slack of a tight first-response deadline: whoever arrives while every slot decodes is late, whatever the order of the queue. So
 * lost requests, which lose nothing more by waiting, take a slot only while more than `reserve` are free; nobody else is held back.
 * They get a share floor of slot time here. (Triage counts its floor in steps, of which a request needs a few hundred: used together
 * with a reserve, that floor fills the reserve.)
 */
import { doubles } from '../core/columns.js'
import { expectInteger, expectNumber } from '../core/errors.js'
import type { ViewFilter } from '../core/ports.js'
import { LONG, SHORT } from '../core/request-class.js'
import { LOST, MOST_REQUESTS } from '../core/request-table.js'
import { defaultTriage } from './triage.js'

export interface SlotReserveOptions {
  /** Slots of the shared stage (vLLM: `max_num_seqs`). */
  readonly slots: number
  /** Slots that lost requests leave free; below `slots`. @default half of the slots, rounded down */
  readonly reserve?: number
  /** Least share of slot time, in [0, 1], that goes to lost requests while some wait. @default 0.05 */
  readonly shareFloor?: number
}

/** Steps a request holds its slot, about: the tokens of an answer. They turn the floor from slot time into requests. */
const HOLD_STEPS = 200

/**
 * `uLost` of a policy with a reserve. Whoever is held back by one waits for slots, not steps, so that a wrong verdict costs more; and the
 * expected wait behind it moves with hysteresis and is up to half too long. Hence the benefit of the doubt.
 */
export const RESERVE_U_LOST = 0.8

/** Throws `ERR_POLICIES_SLOT_RESERVE` for impossible numbers. */
export function slotReserve(options: SlotReserveOptions): ViewFilter {
  const { slots, reserve = slots >> 1, shareFloor } = { ...defaultTriage, ...options }
  const code = 'ERR_POLICIES_SLOT_RESERVE'
  expectInteger(code, 'slots', slots, 1, MOST_REQUESTS)
  expectInteger(code, 'slotReserve', reserve, 0, slots - 1)
  expectNumber(code, 'triage.shareFloor', shareFloor, 0, 1)
  const perStep = (shareFloor * slots) / HOLD_STEPS
  /** Rescues earned since the last one, while lost requests wait. */
  const credit = doubles(1)
  return {
    name: 'slot-reserve',
    filter(signals, groups) {
      const { inShared } = signals
      const held = signals.sumOn(SHORT, inShared) + signals.sumOn(LONG, inShared)
      const open = Math.max(0, slots - held - reserve)
      groups.limit(SHORT, LOST, open)
      groups.limit(LONG, LOST, open)
      if (signals.waitingOn(SHORT, LOST) + signals.waitingOn(LONG, LOST) === 0) return
      credit[0]! += perStep
      // Spent only where a slot is free: a rescue that no slot can take would be wasted.
      if (credit[0]! < 1 || held >= slots) return
      credit[0]! -= 1
      groups.rescue()
    },
  }
}
