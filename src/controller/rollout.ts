/**
 * @module
 * Whether the policy is in force or only watched: always, never, or for a share of the time in turn. Remembers the last changes, so that a
 * first response counts for what was in force when its request arrived.
 */

/** Which of both holds, now and at the arrival of a request. */
export interface Rollout {
  /** 0: only watched; 1: in force all the time. */
  share: number
  /** Whether the policy is only watched from now on; asked with every tick. */
  isObserving(nowMs: number): boolean
  /** Whether it was only watched at a time within the last minutes. */
  wasObserving(atMs: number): boolean
}

/** One turn of both, ms: long against a step, short against a run. */
export const TURN_MS = 10_000
const KEPT = 64

/** @param share of the time in which the policy is in force, from 0 to 1 */
export function createRollout(share: number): Rollout {
  /** Times of the last changes, and what held from then on. */
  const changes: { readonly atMs: number; readonly observing: boolean }[] = []
  return {
    share,
    isObserving(nowMs) {
      const observing = (nowMs % TURN_MS) / TURN_MS >= this.share
      if (changes.at(-1)?.observing !== observing) {
        changes.push({ atMs: nowMs, observing })
        if (changes.length > KEPT) changes.shift()
      }
      return observing
    },
    wasObserving(atMs) {
      let found = changes[0]?.observing ?? this.share < 1
      for (const change of changes) {
        if (change.atMs > atMs) break
        found = change.observing
      }
      return found
    },
  }
}
