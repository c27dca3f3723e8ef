/**
 * @module
 * Sound as 16-bit samples of one channel: the header of a WAV file, a tone, and silence.
 */

export const WAV_HEADER_BYTES = 44

/** Header of a WAV with so many bytes of samples; `undefined` where the length is not known yet, as in a stream. */
export function wavHeader(sampleRateHz: number, dataBytes: number | undefined): Buffer {
  const header = Buffer.alloc(WAV_HEADER_BYTES)
  const unknown = 0xffffffff
  header.write('RIFF', 0)
  header.writeUInt32LE(dataBytes === undefined ? unknown : dataBytes + 36, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(sampleRateHz, 24)
  header.writeUInt32LE(sampleRateHz * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(dataBytes ?? unknown, 40)
  return header
}

/** A tone from sample `from` on, silent before sample `silentBefore`. */
export function toneSamples(
  sampleRateHz: number,
  from: number,
  count: number,
  silentBefore = 0,
): Buffer {
  const bytes = Buffer.alloc(count * 2)
  for (let i = Math.max(0, silentBefore - from); i < count; i++) {
    bytes.writeInt16LE(
      Math.round(9000 * Math.sin((2 * Math.PI * 220 * (from + i + 0.25)) / sampleRateHz)),
      i * 2,
    )
  }
  return bytes
}
