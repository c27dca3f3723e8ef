/**
 * @module
 * Reads a trace from a file or from standard input, gzipped or not, piece by piece: no more of it than the requests asked for need.
 */
import { HorizonError, isHorizonError } from '../../core/errors.js'
import { nodeModule } from '../node-module.js'
import { excerpt } from './excerpt.js'
import { nameBytes } from './name-format.js'
import { CUT, notOurs, parsePieces, type ReadTraceOptions } from './read-trace.js'
import type { Trace } from './trace.js'

/** Unpacked; beyond this a trace should be cut first. */
const MAX_BYTES = 400 * 1024 * 1024

const PIECE_BYTES = 1024 * 1024

/** Enough to tell what a file is. */
const HEAD_BYTES = 512

/**
 * Reads the file at `path`, `-` for standard input. Throws `ERR_SIM_TRACE_FILE`, `ERR_SIM_TRACE_SIZE`, and what `parseTrace` throws.
 * Runs on Node alone.
 */
export function readTrace(path: string, options: ReadTraceOptions = {}): Trace {
  const { openSync, closeSync, fstatSync } = nodeModule('node:fs')
  const name = path === '-' ? 'standard input' : nodeModule('node:path').basename(path)
  let fd = 0
  try {
    if (path !== '-') fd = openSync(path, 'r')
    // Sizes of pipes are 0: they are counted as they are read.
    const { size } = fstatSync(fd)
    if (size > MAX_BYTES && options.requests === undefined) throw tooLarge(name)
    return parsePieces(textOf(fd, name, options), name, options)
  } catch (cause) {
    if (isHorizonError(cause)) throw cause
    throw new HorizonError('ERR_SIM_TRACE_FILE', 'cannot read the trace', {
      field: path,
      got: cause instanceof Error ? cause.message : cause,
      cause,
    })
  } finally {
    if (path !== '-' && fd > 0) closeSync(fd)
  }
}

function* textOf(fd: number, name: string, options: ReadTraceOptions): Generator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined
  let total = 0
  for (const bytes of bytesOf(fd, name)) {
    if (decoder === undefined) {
      const encoding = encodingOf(bytes)
      const what = encoding === 'utf-8' ? nameBytes(bytes) : undefined
      if (what !== undefined) throw notOurs(name, what)
      decoder = new TextDecoder(encoding)
    }
    total += bytes.length
    if (total > MAX_BYTES && (options.requests === undefined || options.sort === true)) {
      throw tooLarge(name)
    }
    yield decoder.decode(bytes, { stream: true })
  }
  if (decoder !== undefined) yield decoder.decode()
}

/** By the mark that spreadsheets put first; a decoder takes it away. */
function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
}

function* bytesOf(fd: number, name: string): Generator<Uint8Array> {
  let first = readPiece(fd)
  // A pipe may give its first bytes one by one.
  for (let more = first; first.length < HEAD_BYTES && more.length > 0; ) {
    more = readPiece(fd)
    first = join([first, more], first.length + more.length)
  }
  if (first.length === 0) return
  if (first[0] === 0x1f && first[1] === 0x8b) yield* unpacked(first, fd, name)
  else {
    yield first
    for (let piece = readPiece(fd); piece.length > 0; piece = readPiece(fd)) yield piece
  }
}

/**
 * Unpacks a gzip file from its start, of which twice as much is taken whenever more is needed: unpacking in pieces is not to be had
 * without waiting, and a second pass costs less than reading what nobody asked for.
 */
function* unpacked(first: Uint8Array, fd: number, name: string): Generator<Uint8Array> {
  const { constants, gunzipSync } = nodeModule('node:zlib')
  let packed = first
  let given = 0
  for (let isWhole = false; !isWhole; ) {
    const pieces = [packed]
    let length = packed.length
    const wanted = given === 0 ? PIECE_BYTES : packed.length * 2
    while (length < wanted && !isWhole) {
      const piece = readPiece(fd)
      isWhole = piece.length === 0
      pieces.push(piece)
      length += piece.length
    }
    packed = join(pieces, length)
    let bytes: Uint8Array
    try {
      bytes = gunzipSync(packed, {
        maxOutputLength: MAX_BYTES,
        finishFlush: isWhole ? constants.Z_FINISH : constants.Z_SYNC_FLUSH,
      })
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(name)
      throw cause
    }
    if (bytes.length > given) yield bytes.subarray(given)
    given = bytes.length
  }
}

function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** The next bytes, none at the end. Waits for a pipe that has nothing yet. */
function readPiece(fd: number): Uint8Array {
  const { readSync } = nodeModule('node:fs')
  const piece = new Uint8Array(PIECE_BYTES)
  for (;;) {
    try {
      return piece.subarray(0, readSync(fd, piece))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EOF') return piece.subarray(0, 0)
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

function tooLarge(name: string): HorizonError {
  return new HorizonError('ERR_SIM_TRACE_SIZE', 'the trace is too large', {
    field: excerpt(name),
    expected: `at most ${MAX_BYTES / 1024 / 1024} MiB, unpacked`,
    hint: CUT,
  })
}
