/**
 * @module
 * The sound of the twin: units of half a second, silent as long as the spec says, then a tone. Pieces are made once and kept.
 */
import { toneSamples, wavHeader } from '../wav.js'

export const SAMPLE_RATE_HZ = 24_000
/** The simulator's unit of downstream work for speech. */
export const SECONDS_PER_UNIT = 0.5
const SAMPLES_PER_UNIT = SAMPLE_RATE_HZ * SECONDS_PER_UNIT
const KEPT = 256

export interface SpeechSamples {
  /** 16-bit samples of units `from` to `to`. */
  pcm(from: number, to: number): Buffer
  /** The same as base64 of a WAV, or of bare samples. */
  base64(from: number, to: number, container: 'wav' | 'pcm'): string
}

export function createSpeechSamples(silenceMs: number): SpeechSamples {
  const silentBefore = Math.round((silenceMs * SAMPLE_RATE_HZ) / 1000)
  const pieces = new Map<string, Buffer>()
  const texts = new Map<string, string>()

  /** Pieces after the silence are all alike. */
  function keyOf(from: number, to: number): string {
    return from * SAMPLES_PER_UNIT >= silentBefore ? `${to - from}` : `${from}-${to}`
  }

  function pcm(from: number, to: number): Buffer {
    return kept(pieces, keyOf(from, to), () =>
      toneSamples(
        SAMPLE_RATE_HZ,
        from * SAMPLES_PER_UNIT,
        (to - from) * SAMPLES_PER_UNIT,
        silentBefore,
      ),
    )
  }

  return {
    pcm,
    base64: (from, to, container) =>
      kept(texts, `${container} ${keyOf(from, to)}`, () => {
        const samples = pcm(from, to)
        return (
          container === 'pcm'
            ? samples
            : Buffer.concat([wavHeader(SAMPLE_RATE_HZ, samples.length), samples])
        ).toString('base64')
      }),
  }
}

function kept<T>(held: Map<string, T>, key: string, make: () => T): T {
  const found = held.get(key)
  if (found !== undefined) return found
  const made = make()
  // Lengths repeat; a hostile mix of them must not fill the memory.
  if (held.size >= KEPT) held.clear()
  held.set(key, made)
  return made
}
