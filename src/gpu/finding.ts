/**
 * @module
 * What a check of the environment finds: one line each, with what to do about it.
 */
import { isHorizonError } from '../core/errors.js'

/** `missing` is something a part of this library would need; `warning` something that will surprise. */
export type FindingStatus = 'ok' | 'warning' | 'missing'

/** One line of `doctor`. */
export interface Finding {
  /** Stable name, e.g. `cuda.device.0`; scripts may look for it. */
  readonly id: string
  readonly status: FindingStatus
  /** What is there, in one sentence. */
  readonly text: string
  /** What to do about it; absent where nothing is to be done. */
  readonly advice?: string
}

/** A finding of good news. */
export function fine(id: string, text: string): Finding {
  return { id, status: 'ok', text }
}

/** A finding with something to do. */
export function attention(
  id: string,
  status: 'warning' | 'missing',
  text: string,
  advice: string,
): Finding {
  return { id, status, text, advice }
}

/** An error of ours as a finding: its hint is the advice. Anything else is a bug and goes on up. */
export function findingOf(id: string, error: unknown): Finding {
  if (!isHorizonError(error)) throw error
  const hint = error.hint ?? 'See the message'
  const text = error.message.endsWith(hint)
    ? error.message.slice(0, -hint.length - 2)
    : error.message
  return attention(id, 'missing', text, hint)
}
