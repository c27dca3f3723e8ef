/**
 * @module
 * Reads a trace from text: finds the format by the first line, names the line that is broken, or counts it and goes on.
 */
import { HorizonError } from '../../core/errors.js'
import { azure } from './azure.js'
import { bailian } from './bailian.js'
import { burstGpt } from './burstgpt.js'
import { excerpt } from './excerpt.js'
import { mooncake } from './mooncake.js'
import { nameText } from './name-format.js'
import { plainCsv, plainJsonl } from './plain.js'
import {
  createTraceBuilder,
  firstRequests,
  type LineParser,
  type TimeUnit,
  type Trace,
  type TraceFormat,
} from './trace.js'
import { linesOf, MAX_LINE } from './trace-lines.js'

const FORMATS: readonly TraceFormat[] = [azure, burstGpt, bailian, mooncake, plainCsv, plainJsonl]

/** Without a number of requests asked for, a longer trace is an error: every one of them would be simulated. */
const MAX_REQUESTS = 2_000_000

/** The way out for a trace that is too long. */
export const CUT =
  'Take its first requests: --requests 100000, or cut the file: head -n 100001 FILE'

export interface ReadTraceOptions {
  /** Count broken lines and go on instead of stopping at the first. @default false */
  readonly skipBad?: boolean | undefined
  /** Seeds what a format has to mend at random (Mooncake's batches). @default 0 */
  readonly seed?: number | undefined
  /** Read no further than this many requests; with `sort`, keep the first of all. @default all, of at most 2,000,000 */
  readonly requests?: number | undefined
  /** Put requests in order of their times instead of refusing one that comes late. @default false */
  readonly sort?: boolean | undefined
  /** Unit of the times, where the file does not say it and the format's own is wrong. */
  readonly timeUnit?: TimeUnit | undefined
}

/**
 * Parses the text of a trace; `name` stands in messages in place of a path.
 * Throws `ERR_SIM_TRACE_FORMAT` or, naming the line, `ERR_SIM_TRACE_LINE`; `ERR_SIM_TRACE_SIZE` for too many requests.
 */
export function parseTrace(text: string, name: string, options: ReadTraceOptions = {}): Trace {
  return parsePieces([text.replace(/^\uFEFF/, '')], name, options)
}

/** The same for text that comes in pieces; no more of them are taken than the requests asked for need. */
export function parsePieces(
  pieces: Iterable<string>,
  name: string,
  options: ReadTraceOptions,
): Trace {
  const { requests, sort = false } = options
  const most = requests ?? MAX_REQUESTS
  const builder = createTraceBuilder(sort)
  let started: { format: TraceFormat; parser: LineParser } | undefined
  let skipped = 0
  let late = 0
  let number = 0
  for (const line of linesOf(pieces)) {
    number += 1
    const text = line.trim()
    if (text === '') continue
    if (started === undefined) {
      const format = formatOf(text, name, options.timeUnit)
      started = { format, parser: format.start(text, options.timeUnit) }
      if (started.parser.hasHeader) continue
    }
    const row = line.length > MAX_LINE ? 'the line is too long' : started.parser.parse(line)
    if (row === undefined) continue
    const problem = typeof row === 'string' ? row : builder.add(row)
    if (problem !== undefined) {
      const isLate = problem.startsWith('the clock goes back')
      if (options.skipBad !== true) throw brokenLine(name, number, line, problem, isLate)
      skipped += 1
      if (isLate) late += 1
    } else if (builder.size > most && requests === undefined) throw tooMany(name)
    else if (builder.size >= most && requests !== undefined && !sort) break
  }
  if (started === undefined) throw notOurs(name, '')
  if (builder.size === 0) {
    throw new HorizonError('ERR_SIM_TRACE_FORMAT', 'the trace has no requests', {
      field: name,
      got: `${skipped} broken lines`,
    })
  }
  const { format, parser } = started
  const { moved, ...columns } = builder.build()
  const warnings = [...(parser.doubts?.(columns.arrivalMs) ?? [])]
  if (late > 0) {
    warnings.push(
      `${late} of the lines left out only came late, which thins the trace where it is dense: --sort keeps them`,
    )
  }
  parser.mend?.(columns.arrivalMs, options.seed ?? 0)
  const trace: Trace = {
    ...columns,
    format: format.name,
    skipped,
    notes: [
      ...format.notes,
      ...(parser.notes?.() ?? []),
      ...(moved > 0 ? [`put in order of time: ${moved} requests came late in the file`] : []),
    ],
    warnings,
  }
  return sort && requests !== undefined ? firstRequests(trace, requests) : trace
}

function formatOf(firstLine: string, name: string, unit: TimeUnit | undefined): TraceFormat {
  const format =
    firstLine.length > MAX_LINE ? undefined : FORMATS.find((of) => of.matches(firstLine))
  if (format === undefined) throw notOurs(name, nameText(firstLine))
  if (unit !== undefined && !format.takesUnit) {
    throw new HorizonError(
      'ERR_SIM_TRACE_FORMAT',
      `a unit of time has no effect: ${name} says it`,
      {
        field: '--time-unit',
        hint:
          format === azure
            ? 'Its times are dates'
            : 'Name the column arrival_s or arrival_ms instead',
      },
    )
  }
  return format
}

/** The refusal of a file that is no trace of ours: one short line, whatever it holds. */
export function notOurs(name: string, what: string): HorizonError {
  return new HorizonError(
    'ERR_SIM_TRACE_FORMAT',
    `not a trace this reader knows${what === '' ? '' : ` (it is ${what})`}`,
    {
      field: excerpt(name),
      expected:
        'Azure, BurstGPT, Bailian, Mooncake, or CSV or JSON lines with arrival_ms, prompt_tokens, output_tokens',
    },
  )
}

function brokenLine(
  name: string,
  number: number,
  line: string,
  problem: string,
  isLate: boolean,
): HorizonError {
  return new HorizonError('ERR_SIM_TRACE_LINE', problem, {
    field: `${excerpt(name)}, line ${number}`,
    got: excerpt(line),
    hint: isLate
      ? 'Put the file in order of time, or have it done (sort, --sort)'
      : 'Mend the line, or leave broken lines out with skipBad (--skip-bad)',
  })
}

function tooMany(name: string): HorizonError {
  return new HorizonError('ERR_SIM_TRACE_SIZE', 'the trace is too long to be simulated whole', {
    field: excerpt(name),
    expected: `at most ${MAX_REQUESTS} requests`,
    hint: CUT,
  })
}
