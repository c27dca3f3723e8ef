/**
 * @module
 * Reads a trace by path or from text: finds the format by the first line, names the line that is broken, or counts it and goes on.
 */
import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { HorizonError } from '../../core/errors.js'
import { azure } from './azure.js'
import { mooncake } from './mooncake.js'
import { plainCsv, plainJsonl } from './plain.js'
import { createTraceBuilder, type Trace, type TraceFormat } from './trace.js'

const FORMATS: readonly TraceFormat[] = [azure, mooncake, plainCsv, plainJsonl]

/** Files are read whole; beyond this a trace should be cut first. */
const MAX_BYTES = 400 * 1024 * 1024

export interface ReadTraceOptions {
  /** Count broken lines and go on instead of stopping at the first. @default false */
  readonly skipBad?: boolean
  /** Seeds what a format has to mend at random (Mooncake's batches). @default 0 */
  readonly seed?: number
}

/** Reads the file at `path`. Throws `ERR_SIM_TRACE_FILE`, `ERR_SIM_TRACE_FORMAT` or, naming the line, `ERR_SIM_TRACE_LINE`. */
export function readTrace(path: string, options: ReadTraceOptions = {}): Trace {
  let text: string
  try {
    const { size } = statSync(path)
    if (size > MAX_BYTES) {
      throw new HorizonError('ERR_SIM_TRACE_FILE', 'the trace is too large', {
        field: path,
        expected: `at most ${MAX_BYTES} bytes`,
        got: size,
      })
    }
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof HorizonError) throw cause
    throw new HorizonError('ERR_SIM_TRACE_FILE', 'cannot read the trace', {
      field: path,
      got: cause instanceof Error ? cause.message : cause,
      cause,
    })
  }
  return parseTrace(text, basename(path), options)
}

/** Parses the text of a trace; `name` stands in messages in place of a path. */
export function parseTrace(text: string, name: string, options: ReadTraceOptions = {}): Trace {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const firstIndex = lines.findIndex((line) => line.trim() !== '')
  const firstLine = (lines[firstIndex] ?? '').trim()
  const format = FORMATS.find((candidate) => candidate.matches(firstLine))
  if (format === undefined) {
    throw new HorizonError('ERR_SIM_TRACE_FORMAT', 'not a trace this reader knows', {
      field: name,
      expected:
        'Azure (TIMESTAMP,ContextTokens,GeneratedTokens), Mooncake (JSON lines with input_length), or CSV or JSON lines with arrival_ms, prompt_tokens, output_tokens',
      got: firstLine,
    })
  }
  const { hasHeader, parse } = format.start(firstLine)
  const builder = createTraceBuilder()
  let skipped = 0
  for (let index = hasHeader ? firstIndex + 1 : firstIndex; index < lines.length; index++) {
    const line = lines[index] as string
    if (line.trim() === '') continue
    const row = parse(line)
    const problem = typeof row === 'string' ? row : builder.add(row)
    if (problem === undefined) continue
    if (options.skipBad === true) skipped++
    else
      throw new HorizonError('ERR_SIM_TRACE_LINE', problem, {
        field: `${name}, line ${index + 1}`,
        got: line,
        hint: 'Mend the line, or leave broken lines out with skipBad (--skip-bad)',
      })
  }
  const trace = builder.build(format.name, skipped, format.notes)
  if (trace.size === 0) {
    throw new HorizonError('ERR_SIM_TRACE_FORMAT', 'the trace has no requests', {
      field: name,
      got: `${skipped} broken lines`,
    })
  }
  format.mend?.(trace.arrivalMs, options.seed ?? 0)
  return trace
}
