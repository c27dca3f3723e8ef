/**
 * @module
 * What the simulated runtime asks of the scheduler that it runs: the calls an engine makes at its step boundaries. Requests are
 * named by their place in the workload. The one implementation wraps the real thing (`horizon-scheduler.ts`).
 */

export interface RuntimeScheduler {
  /** SMs the shared stage may use, as of the last step. */
  readonly capSms: number
  /** Requests that wait for the shared stage, and those of them that are protected. */
  readonly waiting: number
  readonly protectedWaiting: number
  arrive(request: number, nowMs: number): void
  /** One engine step: decides the view and the cap. `pressure` is NaN before the first reading. */
  step(
    nowMs: number,
    pressure: number,
    pressureTimestampMs: number,
    downstreamActive: boolean,
  ): void
  /** The next visible request of this step's view, or -1. */
  next(): number
  admit(request: number): void
  /** Cumulative tokens. */
  progress(request: number, prefillTokensDone: number, decodeTokensDone: number): void
  preempt(request: number): void
  /** Decoded, and still holds its place. */
  handedOver(request: number): void
  /** Called for each request that the policy refuses; it has left the scheduler then. */
  onShed?: (request: number) => void
  enterDownstream(request: number): void
  firstResponse(request: number, nowMs: number): void
  finish(request: number): void
}
