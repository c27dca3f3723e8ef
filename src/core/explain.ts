/**
 * @module
 * A decision in words, for one request: where it is, how much slack it has, and why the last step showed or hid it.
 */
import { HIDDEN, LIMITED } from './groups.js'
import { LONG } from './request-class.js'
import {
  CHUNK_BITS,
  CHUNK_MASK,
  DOWNSTREAM,
  HANDED_OVER,
  LOST,
  PREEMPTED,
  PREFILL,
  PROTECTED,
  RESPONDED,
  WAITING,
} from './request-table.js'
import type { Scheduler } from './scheduler.js'

const STATUS = ['ordinary', 'protected', 'lost'] as const

/** Explains the request in `slot`, as of the last step. */
export function explainRequest(scheduler: Scheduler, slot: number): string {
  const { table, classes, policy, estimates, cells } = scheduler
  const chunk = table.chunks[slot >> CHUNK_BITS]!
  const i = slot & CHUNK_MASK
  const c = chunk.classIndex[i]!
  const now = cells[0]!
  const handle = table.handleOf(slot)
  const id = scheduler.ids.get(handle)
  const path = classes.path[c] === LONG ? 'long' : 'short'
  const parts = [
    `${classes.names[c]} request ${id === undefined ? `#${handle}` : JSON.stringify(id)} (${path} path), arrived ${ms(now - chunk.arrivalMs[i]!)} ago`,
  ]
  const slackMs = chunk.deadlineMs[i]! + chunk.graceMs[i]! - now
  if ((chunk.flags[i]! & RESPONDED) !== 0)
    return `${parts[0]}: it has had its first response and is never hidden.`
  parts.push(slackMs >= 0 ? `deadline in ${ms(slackMs)}` : `deadline missed ${ms(-slackMs)} ago`)
  const state = chunk.state[i]!
  if (state !== WAITING) {
    const leftMs = scheduler.profiler.remaining(
      chunk.sharedWorkMs[i]!,
      chunk.promptTokens[i]!,
      chunk.prefillDone[i]!,
      chunk.decodeDone[i]!,
    )
    if (state === PREEMPTED) parts.push('waits for its slot back and is always visible')
    else if (state === PREFILL)
      parts.push(
        `in prefill, ${chunk.prefillDone[i]} of ${chunk.promptTokens[i]} tokens, about ${ms(leftMs * estimates.slowdown[c]!)} of shared stage left`,
      )
    else if (state === HANDED_OVER)
      parts.push('decoded, and holds its slot until its downstream stage takes it')
    else parts.push(state === DOWNSTREAM ? 'in its downstream stage' : 'decoding, never hidden')
    return `${parts.join('; ')}.`
  }
  const workMs = scheduler.waitingSet.lists.byId[chunk.list[i]!]!.workMs
  const waitMs = policy.urgency.downstreamWait ? estimates.waitMs[c]! : 0
  const estimateMs = estimates.slowdown[c]! * workMs + waitMs
  const status = chunk.status[i]!
  parts.push(
    `estimated ${ms(estimateMs)} to its first response (${ms(workMs)} alone, slowdown ${estimates.slowdown[c]}${waitMs > 0 ? `, ${ms(waitMs)} downstream wait` : ''})`,
    `slack ratio u = ${(slackMs / estimateMs).toFixed(2)}, so it is ${STATUS[status]} (${guard(scheduler, status)})`,
  )
  if (scheduler.decision.step === -1) {
    parts.push('there was no step yet that could show or hide it')
    return `${parts.join('; ')}.`
  }
  parts.push(
    scheduler.view.shows(slot)
      ? 'visible in this step'
      : `hidden in this step: ${reason(scheduler, c, status)}`,
  )
  return `${parts.join('; ')}.`
}

function guard(scheduler: Scheduler, status: number): string {
  const { uGuard, uLost } = scheduler.policy.urgency
  if (status === LOST) return `u < uLost = ${uLost}`
  if (status === PROTECTED) return `u < uGuard = ${uGuard}`
  return uGuard > 0 ? `u >= uGuard = ${uGuard}` : 'the policy has no guard'
}

/** Why a waiting request of a class and status is not shown, as of the last step. */
export function reason(scheduler: Scheduler, classIndex: number, status: number): string {
  const { groups, decision, classes } = scheduler
  const verdict = groups.verdict[classIndex * 3 + status]
  const path = classes.path[classIndex]!
  if (verdict === LIMITED) {
    const limit = groups.limits[path * 3 + status]!
    return `at most ${limit} of its kind may be admitted now, and others have earlier deadlines`
  }
  if (verdict === HIDDEN && decision.phase !== 'none')
    return `step ${decision.step} is a ${decision.phase}-path step (N = ${decision.n})`
  return `policy ${scheduler.policy.name} hides ${STATUS[status]} requests of its class`
}

function ms(value: number): string {
  return value >= 10_000
    ? `${(value / 1000).toFixed(1)} s`
    : `${value.toFixed(value < 10 ? 2 : 0)} ms`
}
