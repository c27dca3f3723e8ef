/**
 * @module
 * Who holds which resource when, folded into one period: a node that starts at t holds its resources during
 * [t, t + tau) mod T, in every batch. The one place that knows how intervals on a circle overlap.
 */

export interface PeriodTable {
  /** The earliest start at or after `from` that collides with nothing; undefined when the circle has no such gap. */
  earliest(resources: readonly number[], tauMs: number, from: number): number | undefined
  /** Whether a start collides with nothing. */
  isFree(resources: readonly number[], tauMs: number, at: number): boolean
  hold(resources: readonly number[], tauMs: number, at: number): void
  /** Ends (mod T) of what the resources already hold: starts there leave no gap. */
  ends(resources: readonly number[]): number[]
}

/** Slack for comparing instants inside a period of length T. */
export function slackOf(periodMs: number): number {
  return 1e-9 * Math.max(1, periodMs)
}

export function periodTable(resourceCount: number, periodMs: number): PeriodTable {
  const slack = slackOf(periodMs)
  const held: { at: number; tau: number }[][] = Array.from({ length: resourceCount }, () => [])
  const fold = (value: number): number => {
    const rest = value - Math.floor(value / periodMs) * periodMs
    return rest >= periodMs - slack ? 0 : rest
  }
  /** How far a start must move to get past what it collides with; 0 when it is free. */
  const push = (resources: readonly number[], tauMs: number, at: number): number => {
    const x = fold(at)
    for (const resource of resources)
      for (const other of held[resource]!) {
        const since = fold(x - other.at)
        if (since < other.tau - slack) return other.tau - since
        const until = fold(other.at - x)
        if (until < tauMs - slack) return until + other.tau
      }
    return 0
  }
  return {
    earliest(resources, tauMs, from) {
      if (tauMs > periodMs + slack) return undefined
      let at = from
      for (;;) {
        const step = push(resources, tauMs, at)
        if (step === 0) return at
        at += step
        if (at > from + periodMs + slack) return undefined
      }
    },
    isFree: (resources, tauMs, at) => tauMs <= periodMs + slack && push(resources, tauMs, at) === 0,
    hold(resources, tauMs, at) {
      for (const resource of resources) held[resource]!.push({ at: fold(at), tau: tauMs })
    },
    ends: (resources) =>
      resources.flatMap((resource) => held[resource]!.map((other) => fold(other.at + other.tau))),
  }
}
