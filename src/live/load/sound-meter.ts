/**
 * @module
 * Follows the sound of an answer: how long it is, when the first of it came, when the first that is not silence, and how long a player
 * that starts at the first chunk would have stood still. Length is read off the length of the base64; samples are decoded only until
 * the first one that can be heard.
 */
import { WAV_HEADER_BYTES } from '../wav.js'

/** Above -60 dB of full scale a sample counts as sound. */
const AUDIBLE = 32
const DEFAULT_RATE_HZ = 24_000

export interface SoundMeter {
  /** NaN until there was one. */
  readonly firstChunkMs: number
  readonly firstSoundMs: number
  readonly lastChunkMs: number
  readonly seconds: number
  /** Silence before the first sound, in the sound itself. */
  readonly leadingSilenceMs: number
  /** Longest deficit of the player, at least 0. */
  readonly underrunMs: number
  /** What a header of the response says about bare samples. */
  bytesPerSecond: number
  /** A piece in base64: a whole WAV, or bare samples. */
  base64(payload: Buffer, nowMs: number): void
  /** Bytes of a stream: a WAV's header at most once, then samples. */
  raw(bytes: Buffer, nowMs: number): void
}

export function createSoundMeter(): SoundMeter {
  let playedMs = 0
  let odd: Buffer | undefined
  let header: Buffer | undefined = Buffer.alloc(0)

  /** `count` bytes of samples came at `nowMs`; `decode` gives them when they have to be looked at. */
  function add(count: number, nowMs: number, decode: () => Buffer): void {
    if (count <= 0) return
    if (Number.isNaN(meter.firstChunkMs)) meter.firstChunkMs = nowMs
    // What came before has to last until now.
    meter.underrunMs = Math.max(meter.underrunMs, nowMs - meter.firstChunkMs - playedMs)
    meter.lastChunkMs = nowMs
    if (Number.isNaN(meter.firstSoundMs)) {
      const samples = decode()
      let at = 0
      while (at + 1 < samples.length && Math.abs(samples.readInt16LE(at)) <= AUDIBLE) at += 2
      meter.leadingSilenceMs += (at / meter.bytesPerSecond) * 1000
      if (at + 1 < samples.length) meter.firstSoundMs = nowMs
    }
    meter.seconds += count / meter.bytesPerSecond
    playedMs = meter.seconds * 1000
  }

  const meter = {
    firstChunkMs: Number.NaN,
    firstSoundMs: Number.NaN,
    lastChunkMs: Number.NaN,
    seconds: 0,
    leadingSilenceMs: 0,
    underrunMs: 0,
    bytesPerSecond: DEFAULT_RATE_HZ * 2,
    base64(payload: Buffer, nowMs: number) {
      const bytes = base64Bytes(payload)
      // "UklGR" is "RIFF" in base64.
      if (payload.length < 60 || payload.toString('latin1', 0, 5) !== 'UklGR') {
        add(bytes, nowMs, () => Buffer.from(payload.toString('latin1'), 'base64'))
        return
      }
      const head = Buffer.from(payload.toString('latin1', 0, 400), 'base64')
      const dataAt = Math.max(WAV_HEADER_BYTES, head.indexOf('data') + 8)
      meter.bytesPerSecond = head.readUInt32LE(28) || meter.bytesPerSecond
      add(bytes - dataAt, nowMs, () =>
        Buffer.from(payload.toString('latin1'), 'base64').subarray(dataAt),
      )
    },
    raw(bytes: Buffer, nowMs: number) {
      let samples = bytes
      if (header !== undefined) {
        header = Buffer.concat([header, bytes])
        if (header.length < WAV_HEADER_BYTES && isPrefixOfRiff(header)) return
        samples = header
        if (header.toString('latin1', 0, 4) === 'RIFF') {
          meter.bytesPerSecond = header.readUInt32LE(28) || meter.bytesPerSecond
          samples = header.subarray(WAV_HEADER_BYTES)
        }
        header = undefined
      }
      if (odd !== undefined) samples = Buffer.concat([odd, samples])
      odd = samples.length % 2 === 1 ? Buffer.from(samples.subarray(-1)) : undefined
      const whole = samples.length - (samples.length % 2)
      add(whole, nowMs, () => samples.subarray(0, whole))
    },
  }
  return meter
}

function isPrefixOfRiff(bytes: Buffer): boolean {
  return 'RIFF'.startsWith(bytes.toString('latin1', 0, Math.min(4, bytes.length)))
}

function base64Bytes(payload: Buffer): number {
  let padding = 0
  while (padding < 2 && payload[payload.length - 1 - padding] === 0x3d) padding++
  return Math.floor(((payload.length - padding) * 3) / 4)
}
