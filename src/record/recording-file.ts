/**
 * @module
 * A recording on disk. Written at once and in order: a lockstep worker has no event loop that could write later.
 */
import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { HorizonError } from '../core/errors.js'
import {
  createRecorder,
  DEFAULT_MAX_BYTES,
  type Recorder,
  type RecorderOptions,
  type RecordingSink,
} from './recorder.js'

export interface RecordingFile extends RecordingSink {
  close(): void
}

/** Opens a file to record to, readable by its owner only. `append` goes on where it ends. Throws `ERR_RECORD_FILE`. */
export function recordingFile(path: string, append = false): RecordingFile {
  let file: number
  try {
    file = openSync(path, append ? 'a' : 'w', 0o600)
  } catch (cause) {
    throw new HorizonError('ERR_RECORD_FILE', 'the recording cannot be written', {
      field: path,
      got: cause instanceof Error ? cause.message : cause,
      cause,
    })
  }
  return {
    write(text) {
      const bytes = Buffer.from(text)
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    },
    close() {
      closeSync(file)
    },
  }
}

export interface FileRecorder extends Recorder {
  /** Writes what is left and closes the file. */
  close(): void
}

/** A recorder to a file. Throws `ERR_RECORD_FILE`. */
export function fileRecorder(
  path: string,
  { append, ...options }: Omit<RecorderOptions, 'sink'> & { readonly append?: boolean } = {},
): FileRecorder {
  const sink = recordingFile(path, append)
  // The bound holds for the file, whoever wrote its first part.
  const used = append === true ? statSync(path).size : 0
  const most = (options.maxBytes ?? DEFAULT_MAX_BYTES) - used
  const recorder = createRecorder({ sink, ...options, maxBytes: most })
  let isClosed = false
  return Object.assign(Object.create(recorder) as Recorder, {
    close() {
      if (isClosed) return
      isClosed = true
      recorder.flush()
      sink.close()
    },
  })
}
