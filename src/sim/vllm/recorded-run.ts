/**
 * @module
 * The requests of a real run as vLLM's own metrics stamped them, one JSON object per line. Times become milliseconds since the first
 * request was queued. `arrival_time` is wall clock and the other stamps are monotonic, so it is shifted by the smallest gap seen
 * between arriving and being queued: what remains of the gap is the wait for the engine core to look into its input queue.
 */
import { HorizonError } from '../../core/errors.js'
import type { ReplayRequest } from './request-table.js'

export interface RecordedRequest {
  readonly id: string
  readonly promptTokens: number
  readonly outputTokens: number
  /** When it lay ready in the engine's input queue; equal to `queuedMs` where the file has no arrival times. */
  readonly readyMs: number
  readonly queuedMs: number
  readonly scheduledMs: number
  readonly firstTokenMs: number
  readonly lastTokenMs: number
}

const STAMPS = ['queued_ts', 'scheduled_ts', 'first_token_ts', 'last_token_ts'] as const

/** Parses a file's text; `file` names it in errors. Requests come out in the order they were queued. */
export function parseRecordedRun(text: string, file: string): readonly RecordedRequest[] {
  const rows: { id: string; input: number; output: number; arrival: number; at: number[] }[] = []
  text.split('\n').forEach((line, index) => {
    if (line.trim() === '') return
    rows.push(parseRow(line, `${file}:${index + 1}`, index))
  })
  if (rows.length === 0) {
    throw new HorizonError('ERR_SIM_RUN', 'no request', { field: file, expected: 'one per line' })
  }
  rows.sort((a, b) => (a.at[0] as number) - (b.at[0] as number))
  const startS = (rows[0] as (typeof rows)[0]).at[0] as number
  let shiftS = Infinity
  for (const row of rows) shiftS = Math.min(shiftS, (row.at[0] as number) - row.arrival)
  return rows.map((row) => {
    const ms = (stamp: number): number => ((row.at[stamp] as number) - startS) * 1000
    return {
      id: row.id,
      promptTokens: row.input,
      outputTokens: row.output,
      readyMs: Number.isFinite(shiftS) ? (row.arrival + shiftS - startS) * 1000 : ms(0),
      queuedMs: ms(0),
      scheduledMs: ms(1),
      firstTokenMs: ms(2),
      lastTokenMs: ms(3),
    }
  })
}

function parseRow(line: string, where: string, index: number) {
  let row: Record<string, unknown>
  try {
    row = JSON.parse(line) as Record<string, unknown>
  } catch (cause) {
    throw new HorizonError('ERR_SIM_RUN', 'not JSON', {
      field: where,
      expected: 'one JSON object per line',
      got: line,
      cause,
    })
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    throw new HorizonError('ERR_SIM_RUN', 'not a request', {
      field: where,
      expected: 'an object',
      got: row,
    })
  }
  const tokens = (field: string): number => {
    const value = row[field]
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
      throw new HorizonError('ERR_SIM_RUN', 'bad length', {
        field: `${where} ${field}`,
        expected: 'a positive integer',
        got: value,
      })
    }
    return value
  }
  const at = STAMPS.map((field) => {
    const value = row[field]
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new HorizonError('ERR_SIM_RUN', 'bad stamp', {
        field: `${where} ${field}`,
        expected: 'seconds as a finite number',
        got: value,
      })
    }
    return { field, value }
  })
  // `scheduled_ts` is left out: an engine that stamps it anew after a preemption may put it after the first token.
  const ordered = at.filter((stamp) => stamp.field !== 'scheduled_ts')
  ordered.forEach((stamp, position) => {
    const before = ordered[position - 1]
    if (before === undefined || stamp.value >= before.value) return
    throw new HorizonError('ERR_SIM_RUN', 'stamps run backwards', {
      field: `${where} ${stamp.field}`,
      expected: `at least ${before.field} (${before.value})`,
      got: stamp.value,
    })
  })
  return {
    id: typeof row.request_id === 'string' ? row.request_id : `line-${index + 1}`,
    input: tokens('input_toks'),
    output: tokens('output_toks'),
    arrival: typeof row.arrival_time === 'number' ? row.arrival_time : Number.NaN,
    at: at.map((stamp) => stamp.value),
  }
}

/** What a replay of the run gets to know: lengths and when each request lay ready (or was queued), shifted to start at 0. */
export function replayRequests(run: readonly RecordedRequest[], byQueue = false): ReplayRequest[] {
  const ready = (request: RecordedRequest): number => (byQueue ? request.queuedMs : request.readyMs)
  const earliest = run.reduce((least, request) => Math.min(least, ready(request)), Infinity)
  return run.map((request) => ({
    readyMs: ready(request) - earliest,
    promptTokens: request.promptTokens,
    outputTokens: request.outputTokens,
  }))
}
