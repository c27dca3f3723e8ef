/**
 * @module
 * Keeps lines within a bound: what comes after it is not written, and the recording says so in its last line. The part before stays
 * whole, for a replay needs every line from the start.
 */
import { LINE, type RecordedLine, type SectionHeader } from './format.js'

/** Takes whole lines of text. May throw: the recording then ends, the scheduler goes on. */
export interface RecordingSink {
  write(text: string): void
}

export interface RecorderOptions {
  readonly sink: RecordingSink
  /** Most characters written, all sections together. @default 268435456 */
  readonly maxBytes?: number
  /** Told once, when the recording ends before its time. */
  readonly onEnd?: (why: string) => void
}

export interface Recorder {
  /** False once it ended: a full or failed recording costs a test per call. */
  readonly isOpen: boolean
  /** Characters written. */
  readonly written: number
  /** Opens a section. `pending` is asked before each flush to write what it still holds. */
  begin(header: SectionHeader, pending?: () => void): void
  line(line: RecordedLine): void
  /** Hands over what is buffered: call it about once a second, and at the end. */
  flush(): void
}

export const DEFAULT_MAX_BYTES = 256 * 1024 * 1024
const BUFFER_CHARACTERS = 64 * 1024
/** Room for the last line. */
const RESERVE = 256

export function createRecorder({ sink, maxBytes, onEnd }: RecorderOptions): Recorder {
  const most = (maxBytes ?? DEFAULT_MAX_BYTES) - RESERVE
  let buffer: string[] = []
  let buffered = 0
  let written = 0
  let isOpen = true
  let pending: (() => void) | undefined

  const end = (why: string): void => {
    isOpen = false
    onEnd?.(why)
  }
  const flush = (): void => {
    if (buffered === 0) return
    const text = buffer.join('')
    buffer = []
    buffered = 0
    try {
      sink.write(text)
    } catch (cause) {
      if (isOpen)
        end(`it cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`)
    }
  }
  const put = (value: unknown): void => {
    if (!isOpen) return
    const text = `${JSON.stringify(value)}\n`
    if (written + text.length > most) {
      const why = 'the bound of the recording is reached'
      buffer.push(`${JSON.stringify([LINE.end, why])}\n`)
      buffered += 1
      flush()
      if (isOpen) end(why)
      return
    }
    written += text.length
    buffer.push(text)
    buffered += text.length
    if (buffered >= BUFFER_CHARACTERS) flush()
  }
  return {
    get isOpen() {
      return isOpen
    },
    get written() {
      return written
    },
    begin(header, still) {
      pending?.()
      pending = still
      put(header)
    },
    line: put,
    flush() {
      pending?.()
      flush()
    },
  }
}
