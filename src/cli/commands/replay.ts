/**
 * @module
 * `horizonserve replay`: repeats what `run --record` wrote and says whether every decision is the same; on request why one was taken.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { explainView, HorizonError, type Scheduler } from '../../core/index.js'
import { CHUNK_SLOTS, FREE } from '../../core/request-table.js'
import { type Replay, replayRecording } from '../../record/index.js'
import { type CliCommand, type CliIo, EXIT } from '../command.js'
import { numberOption } from '../number-option.js'

type Options = Readonly<Record<string, unknown>>

/** Requests told one by one with `--at`. */
const MOST_TOLD = 20

function configure(command: Command): void {
  command
    .argument('<file>', 'what `run --record` wrote')
    .option('--at <step>', 'say why this step decided as it did')
    .option('--section <n>', 'of which engine or configuration, from 1', '1')
    .option('--json', 'print one JSON object')
}

async function run(args: readonly string[], options: Options, io: CliIo): Promise<number> {
  const at = numberOption(options, 'at', { min: 0, integer: true })
  const section = numberOption(options, 'section', { min: 1, integer: true }) as number
  const lines = await readLines(args[0] as string)
  let words: string[] | undefined
  const replay = replayRecording(lines, {
    onStep(scheduler, index) {
      if (scheduler.decision.step === at && index === section - 1) words = tell(scheduler)
    },
  })
  if (at !== undefined && words === undefined) {
    throw new HorizonError('ERR_CLI_OPTION', 'the recording has no such step', {
      field: '--at',
      expected: `a step of ${replay.steps}, in one of ${replay.sections} sections`,
      got: `step ${at} of section ${section}`,
    })
  }
  if (options.json === true) io.out(`${JSON.stringify({ ...replay, why: words })}\n`)
  else io.out(`${[...summary(replay), ...(words ?? [])].join('\n')}\n`)
  return replay.identical ? EXIT.ok : EXIT.negative
}

async function readLines(path: string): Promise<string[]> {
  try {
    const lines: string[] = []
    for await (const line of createInterface({ input: createReadStream(path) })) lines.push(line)
    return lines
  } catch (cause) {
    throw new HorizonError('ERR_CLI_READ', 'cannot read the file', {
      field: path,
      got: cause instanceof Error ? cause.message : cause,
      cause,
    })
  }
}

function summary(replay: Replay): string[] {
  const { steps, arrivals, taken, sections, difference } = replay
  const what = `${steps} steps, ${arrivals} requests, ${taken} taken from views`
  return [
    difference === undefined
      ? `${what}: every decision is the same`
      : `not the same from step ${difference.step} on (line ${difference.line}): ${difference.what} was ${difference.recorded}, is ${difference.replayed}`,
    ...(sections > 1 ? [`${sections} sections: engines or configurations one after another`] : []),
    ...(replay.endedBecause === undefined ? [] : [`ends early: ${replay.endedBecause}`]),
    ...(replay.isCut ? ['the last line is cut: the process was killed while it wrote'] : []),
  ]
}

/** A step in words: the decision, what is shown of each class, and the waiting requests one by one. */
function tell(scheduler: Scheduler): string[] {
  const { decision, table } = scheduler
  const passed = decision.passed ? ', passed to the other path for lack of ordinary work' : ''
  const phase = decision.phase === 'none' ? 'no rotation' : `a ${decision.phase}-path step`
  const words = [
    '',
    `step ${decision.step}: ${phase} (N = ${decision.n})${passed}; ${decision.waiting} waiting, ${decision.hidden} hidden; ${decision.capSms} SMs (level ${decision.level}), ${decision.headroomSms} left to later stages`,
  ]
  for (const line of explainView(scheduler)) {
    words.push(
      `  ${line.waiting} ${line.className} (${line.status}): ${line.shown} shown${line.why === '' ? '' : `, ${line.why}`}`,
    )
  }
  const waiting: number[] = []
  for (const [k, chunk] of table.chunks.entries()) {
    for (const [i, state] of chunk.state.entries()) {
      const handle = state === FREE ? 0 : table.handleOf(k * CHUNK_SLOTS + i)
      if (handle !== 0 && scheduler.isWaiting(handle)) waiting.push(handle)
    }
  }
  for (const handle of waiting.slice(0, MOST_TOLD)) words.push(`  ${scheduler.explain(handle)}`)
  if (waiting.length > MOST_TOLD) words.push(`  and ${waiting.length - MOST_TOLD} more`)
  return words
}

export const command: CliCommand = {
  name: 'replay',
  summary: 'repeat a recording decision by decision, and say why',
  configure,
  run,
}
