/**
 * @module
 * The journal: one file of JSON lines, appended and never rewritten. Every line ends in a sum over itself and the sum of the
 * line before, so that a line torn by a crash is recognised and dropped, and a line changed, lost or moved in the middle is
 * an error instead of a different history. A line is on the disk before `append` returns. The sums find accidents and edits;
 * they are no signature.
 */
import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { HorizonError } from '../../core/errors.js'
import { eventSchema, type LoopEvent } from './events.js'
import { openPlain } from './write-inside.js'

/** An event as read, with the sum of its line. */
export interface JournalLine {
  readonly line: number
  readonly event: LoopEvent
  readonly sum: string
}

export interface Journal {
  /** Appends and syncs; returns the new line. */
  append(event: LoopEvent): JournalLine
  close(): void
}

export interface OpenedJournal {
  readonly journal: Journal
  readonly lines: readonly JournalLine[]
  /** Bytes of a torn last line that were dropped. */
  readonly droppedBytes: number
}

/** Sum before the first line. */
const GENESIS = '0'.repeat(16)

/** Opens for writing, creating the file if need be. The caller holds the project's lock. */
export function openJournal(file: string): OpenedJournal {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT
  const descriptor = openPlain(file, flags, 'journal')
  // A new file exists only once its folder is on the disk too.
  syncFolder(dirname(file))
  const bytes = readFileSync(descriptor)
  const { lines, intactBytes, newlineMissing } = parse(bytes, file)
  if (intactBytes < bytes.length) ftruncateSync(descriptor, intactBytes)
  if (newlineMissing) writeSync(descriptor, '\n')
  fsyncSync(descriptor)
  let size = intactBytes + (newlineMissing ? 1 : 0)
  let sum = lines.at(-1)?.sum ?? GENESIS
  let line = lines.length
  const journal: Journal = {
    append: (event) => {
      const { size: found, nlink } = fstatSync(descriptor)
      // Removed while it is open: what is written now would be on no disk.
      if (found !== size || nlink === 0) throw foreign(file, size, nlink === 0 ? 'no file' : found)
      const checked = eventSchema.parse(event)
      const next = sumOf(sum, checked)
      const buffer = Buffer.from(`${JSON.stringify({ ...checked, sum: next })}\n`)
      for (let written = 0; written < buffer.length; ) {
        written += writeSync(descriptor, buffer, written)
      }
      fsyncSync(descriptor)
      size += buffer.length
      sum = next
      line += 1
      return { line, event: checked, sum: next }
    },
    close: () => closeSync(descriptor),
  }
  return { journal, lines, droppedBytes: bytes.length - intactBytes }
}

/** Reads without a lock and without touching the file; a torn last line is left out. */
export function readJournal(file: string): readonly JournalLine[] {
  return parse(readFileSync(file), file).lines
}

function parse(bytes: Buffer, file: string): Parsed {
  const lines: JournalLine[] = []
  let sum = GENESIS
  let start = 0
  while (start < bytes.length) {
    const newline = bytes.indexOf(0x0a, start)
    const end = newline === -1 ? bytes.length : newline
    const text = bytes.toString('utf8', start, end)
    const line = readLine(text, sum)
    if (line === undefined) {
      // The newline is written last: without it the line was torn by a crash, with it the line was changed afterwards.
      if (newline === -1) break
      throw corrupt(file, lines.length + 1, text)
    }
    lines.push({ line: lines.length + 1, ...line })
    sum = line.sum
    start = end + 1
  }
  return { lines, intactBytes: Math.min(start, bytes.length), newlineMissing: start > bytes.length }
}

interface Parsed {
  readonly lines: JournalLine[]
  readonly intactBytes: number
  /** The last line is whole but for its newline. */
  readonly newlineMissing: boolean
}

function readLine(text: string, before: string): { event: LoopEvent; sum: string } | undefined {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof raw !== 'object' || raw === null) return undefined
  const { sum, ...rest } = raw as Record<string, unknown>
  const parsed = eventSchema.safeParse(rest)
  if (!parsed.success || typeof sum !== 'string') return undefined
  // Summed as it stands in the file: defaults that the schema may gain later must not change old sums.
  return sumOf(before, rest) === sum ? { event: parsed.data, sum } : undefined
}

function sumOf(before: string, event: unknown): string {
  return createHash('sha256')
    .update(before)
    .update(JSON.stringify(event))
    .digest('hex')
    .slice(0, 16)
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

function corrupt(file: string, line: number, text: string): HorizonError {
  return new HorizonError('ERR_DEPLOY_LOOP_JOURNAL', 'the journal was changed or damaged', {
    field: `${file}:${line}`,
    expected: 'a line whose sum follows from the lines before it',
    got: text,
    hint: 'Restore the file from version control; lines are only ever appended',
  })
}

function foreign(file: string, expected: number, got: number | string): HorizonError {
  return new HorizonError('ERR_DEPLOY_LOOP_JOURNAL', 'somebody else wrote to the journal', {
    field: file,
    expected: `${expected} bytes`,
    got,
    hint: 'Close the other program and open the loop again',
  })
}
