/**
 * @module
 * `horizonserve identify`: the worlds that explain the paper's baselines, and what they predict. Worlds are shared out over processes of
 * this command itself, which print their part.
 */
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import type { Command } from 'commander'
import { HorizonError } from '../../core/index.js'
import {
  createLaboratory,
  fitWorld,
  type Identification,
  identification,
  type Job,
  jobKey,
  predictWorld,
  RECOMMENDED,
  type Row,
  WORLD_GRID,
  type WorldFit,
  type WorldPrediction,
} from '../../sim/index.js'
import { type CliCommand, type CliIo, EXIT } from '../command.js'
import { numberOption } from '../number-option.js'

/** Seeds of identification: those of the experiments begin at 101. */
const FIRST_SEED = 201

interface Part {
  readonly worlds: WorldFit[]
  readonly predictions: WorldPrediction[]
}

function configure(command: Command): void {
  command
    .option('--json', 'print the document as JSON')
    .option('--full', 'six seeds a run instead of one: an hour and more')
    .option('--minutes <m>', 'virtual minutes of arrivals a point', '15')
    .option('--worlds <n>', 'only the first n worlds of the grid, for a look')
    .option('--processes <n>', `how many at once (default: ${Math.min(2, availableParallelism())})`)
    .option(
      '--part <i/n>',
      'only every n-th world from the i-th, printed raw (used by the command itself)',
    )
}

async function run(
  args: readonly string[],
  options: Record<string, unknown>,
  io: CliIo,
): Promise<number> {
  if (args.length > 0) {
    throw new HorizonError('ERR_CLI_OPTION', 'identify takes no argument', { got: args[0] })
  }
  const extent = extentOf(options)
  if (options.part !== undefined) {
    io.out(`${JSON.stringify(runPart(options, extent))}\n`)
    return EXIT.ok
  }
  const wanted = numberOption(options, 'processes', { min: 1, max: 64, integer: true })
  const processes = wanted ?? Math.min(2, availableParallelism())
  const parts = await Promise.all(
    Array.from({ length: processes }, (_, i) => startPart(`${i + 1}/${processes}`, options)),
  )
  const document = identification(
    parts.flatMap((part) => part.worlds),
    parts.flatMap((part) => part.predictions),
  )
  io.out(options.json === true ? `${JSON.stringify(document)}\n` : asText(document))
  return EXIT.ok
}

/** Checked before any process is started. */
function extentOf(options: Record<string, unknown>): { minutes: number; count: number } {
  return {
    minutes: numberOption(options, 'minutes', { min: 0.5, max: 1e4 }) ?? 15,
    count:
      numberOption(options, 'worlds', { min: 1, max: WORLD_GRID.length, integer: true }) ??
      WORLD_GRID.length,
  }
}

function runPart(
  options: Record<string, unknown>,
  { minutes, count }: ReturnType<typeof extentOf>,
): Part {
  const [, first, step] = /^(\d+)\/(\d+)$/.exec(String(options.part)) ?? []
  if (first === undefined || Number(first) < 1 || Number(first) > Number(step)) {
    throw new HorizonError('ERR_CLI_OPTION', 'no such part', {
      field: '--part',
      expected: 'i/n with i from 1 to n',
      got: options.part,
    })
  }
  const seeds = Array.from({ length: options.full === true ? 6 : 1 }, (_, i) => FIRST_SEED + i)
  const lab = createLaboratory({ calibratesAlone: true, soloRuns: 15 })
  const done = new Map<string, Row>()
  /** Fit and prediction share runs. */
  const once = (job: Job): Row => {
    const key = jobKey(job)
    const row = done.get(key) ?? lab.run(job)
    done.set(key, row)
    return row
  }
  const part: Part = { worlds: [], predictions: [] }
  for (const [i, world] of WORLD_GRID.slice(0, count).entries()) {
    if (i % Number(step) !== Number(first) - 1) continue
    done.clear()
    const fit = fitWorld(world, { run: once, seeds, minutes })
    part.worlds.push(fit)
    if (fit.fits) {
      const how = { run: once, seeds, minutes, recommended: RECOMMENDED }
      part.predictions.push(predictWorld(fit, how))
    }
  }
  return part
}

/** The same command in a process of its own, for one part. */
function startPart(part: string, options: Record<string, unknown>): Promise<Part> {
  const args = [...process.execArgv, process.argv[1] as string, 'identify', '--part', part]
  for (const name of ['minutes', 'worlds'] as const)
    if (options[name] !== undefined) args.push(`--${name}`, String(options[name]))
  if (options.full === true) args.push('--full')
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
    })
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(out) as Part)
      else reject(new HorizonError('ERR_CLI_IDENTIFY', `part ${part} ended early`, { got: code }))
    })
  })
}

function asText({
  worldsTried,
  worldsFitting,
  worlds,
  quoted,
  figure3,
  statements,
}: Identification): string {
  const lines = [
    `${worldsTried} worlds tried on the baselines alone; ${worldsFitting} fit. All of it is simulated.`,
    '',
    ...worlds
      .filter((world) => world.fits)
      .map(
        (world) =>
          `  ${world.id}: error ${world.baselineRmse}, best baseline ${world.quoted.join(' / ')}`,
      ),
    '',
  ]
  for (const { point, paper, baseline, literal, default: ours, share } of quoted) {
    lines.push(
      `${point}: % over completed, mean (low to high); over arrived`,
      `  paper     baseline ${paper.baseline}, HorizonServe ${paper.horizonserve}`,
      ...(
        [
          ['baseline', baseline],
          ['literal', literal],
          ['default', ours],
        ] as const
      ).map(
        ([name, of]) =>
          `  ${name.padEnd(8)}  ${of.mean} (${of.low} to ${of.high}); ${of.meanOverArrived}`,
      ),
      `  share of worlds within 12 points of the paper’s HorizonServe: ${share}`,
    )
  }
  lines.push('', `BAGEL text under vanilla, 0 to 60 % long path: ${figure3.text.join(' / ')}`)
  for (const { figure, statement, share } of statements)
    lines.push(`${figure}: ${statement}: share ${share}`)
  return `${lines.join('\n')}\n`
}

export const command: CliCommand = {
  name: 'identify',
  summary: 'which simulated worlds explain the paper’s baselines, and what they predict',
  configure,
  run,
}
