/**
 * @module
 * One probe: what is sent, and what came back when. The rest of `attach` knows only this, so that it runs against any server and clock.
 */

export type ProbeOutput = 'text' | 'audio' | 'image'

export interface ProbeShape {
  readonly output: ProbeOutput
  /** Text of the prompt, tokens of four characters. */
  readonly promptTokens: number
  /** Spoken input, seconds; and pictures. */
  readonly audioSeconds: number
  readonly images: number
  /** Tokens to answer with; 0 leaves it to the server. */
  readonly answerTokens: number
  /** Sent so much later, ms: for probes that overlap. */
  readonly delayMs?: number
}

/** What a server says of one stage (`return_stage_metrics`). */
export interface StageTimes {
  /** In the stage, ms; not its queue. */
  readonly busyMs: number
  /** To the first output, from the arrival of the request, ms; NaN where it does not say. */
  readonly firstOutputMs: number
  readonly tokensIn: number
}

/** All times in ms on one clock. NaN: it did not happen. */
export interface ProbeTimes {
  readonly status: number
  readonly startMs: number
  readonly firstTextMs: number
  readonly lastTextMs: number
  readonly firstSoundMs: number
  readonly endMs: number
  /** Deltas that brought sound. */
  readonly soundChunks: number
  /** By number of the stage; empty where the server does not say. */
  readonly stages: readonly StageTimes[]
  readonly promptTokens: number
}

export interface ProbeServer {
  /** Never rejects for an answer of the server; `status` is 0 where none came. */
  probe(shape: ProbeShape): Promise<ProbeTimes>
  /** Requests that the server runs or holds, by its own count; NaN where it does not say. */
  numBusy(): Promise<number>
}

/** To the first response, as the SLO counts it, ms. */
export function firstResponseMs(of: ProbeOutput, times: ProbeTimes): number {
  const at = of === 'text' ? times.firstTextMs : of === 'audio' ? times.firstSoundMs : times.endMs
  return at - times.startMs
}

export function isAnswered(of: ProbeOutput, times: ProbeTimes): boolean {
  return times.status === 200 && Number.isFinite(firstResponseMs(of, times))
}
