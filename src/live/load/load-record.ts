/**
 * @module
 * What became of one request: a line of the JSON lines that `load` writes. Latencies are ms from the *scheduled* instant, `null` for
 * what was not there to measure.
 */
import type { LoadClass } from '../load-class.js'

export type Outcome = 'met' | 'missed' | 'failed' | 'rejected' | 'undetermined'

export interface LoadRecord {
  readonly request: number
  readonly class: string
  /** Since the start of the run. */
  readonly scheduledMs: number
  /** From the scheduled instant, or the end of the wait for a place under a cap, to the sending. */
  readonly sendLagMs: number
  /** Wait for a place, where the number in flight is capped. */
  readonly queueMs: number
  readonly status: number | null
  readonly outcome: Outcome
  /** By the class's metric; judged against its SLO. */
  readonly firstResponseMs: number | null
  readonly firstByteMs: number | null
  readonly firstTokenMs: number | null
  readonly firstAudioMs: number | null
  readonly firstSoundMs: number | null
  readonly endMs: number | null
  readonly textChunks: number
  readonly tpotMs: number | null
  readonly audioSeconds: number
  readonly leadingSilenceMs: number
  /** Time to the last sound over the length of the sound. */
  readonly realTimeFactor: number | null
  readonly underrunMs: number | null
  readonly images: number
  readonly stageMetrics?: unknown
  /** The run ended before the answer did. */
  readonly cut?: true
  readonly error?: string
}

export interface Verdict {
  readonly outcome: Outcome
  readonly firstResponseMs: number | null
}

/**
 * Each request once. Refused is rejected; an error anywhere is failed; what has no value to judge is undetermined, never met: an answer
 * without a sample of sound has no first audio.
 */
export function judge(
  of: LoadClass,
  seen: {
    readonly status: number | null
    readonly error: string | undefined
    readonly cut: boolean
    /** Elapsed since the scheduled instant. */
    readonly elapsedMs: number
    readonly valueMs: number
  },
): Verdict {
  const firstResponseMs = Number.isNaN(seen.valueMs) ? null : seen.valueMs
  const verdict = (outcome: Outcome): Verdict => ({ outcome, firstResponseMs })
  if (seen.status === 429 || seen.status === 503) return verdict('rejected')
  if (seen.error !== undefined) return verdict('failed')
  if (firstResponseMs !== null) return verdict(firstResponseMs <= of.slo.ms ? 'met' : 'missed')
  if (seen.cut && seen.elapsedMs > of.slo.ms) return verdict('missed')
  return verdict('undetermined')
}

/** A request that was waiting for a place under a cap when the run ended. */
export function neverSent(
  of: LoadClass,
  request: number,
  scheduledMs: number,
  waitedMs: number,
): LoadRecord {
  const unseen = { status: null, error: undefined, cut: true, elapsedMs: waitedMs }
  return {
    request,
    class: of.name,
    scheduledMs,
    sendLagMs: 0,
    queueMs: waitedMs,
    ...judge(of, { ...unseen, valueMs: Number.NaN }),
    status: null,
    firstByteMs: null,
    firstTokenMs: null,
    firstAudioMs: null,
    firstSoundMs: null,
    endMs: null,
    textChunks: 0,
    tpotMs: null,
    audioSeconds: 0,
    leadingSilenceMs: 0,
    realTimeFactor: null,
    underrunMs: null,
    images: 0,
    cut: true,
  }
}
