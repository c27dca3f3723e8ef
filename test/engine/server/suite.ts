/**
 * @module
 * What every case of the server suite has at hand: the environment, a model made on the spot, servers and controllers by command.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { LinkReport } from '../../../src/controller/link-report.js'
import type { ServerEnvironment } from './install.js'
import { freePort, type Started, start, until } from './processes.js'

/** One case. A case that returns text has it printed. */
export interface Case {
  readonly name: string
  run(): Promise<string | undefined>
}

/** Everything of a run. */
export interface Bench {
  readonly environment: ServerEnvironment
  readonly folder: string
  readonly model: string
}

/** A server that answers, and how to reach it. */
export interface Server extends Started {
  readonly url: string
  readonly segment: string
}

/** A controller with its metrics port. */
export interface Controller extends Started {
  report(): Promise<LinkReport | undefined>
  watchOnce(): string
}

/** Loaded machines start a server slowly; one that has not come up by then never does. */
const START_SECONDS = 600
let started = 0

export function makeBench(environment: ServerEnvironment, folder: string): Bench {
  mkdirSync(folder, { recursive: true })
  const model = resolve(folder, 'model')
  const made = spawnSync(
    environment.python,
    ['test/engine/server/make_model.py', model, String(VOICE_WORK)],
    { encoding: 'utf8', env: { ...process.env, ...environment.env } },
  )
  if (made.status !== 0) throw new Error(`the model could not be made: ${made.stderr}`)
  return { environment, folder, model }
}

/** Matrix products per token in the voice stage: about as much as the thinker's own work. */
const VOICE_WORK = 4

/** The line of the guide that starts an engine, as `[environment, …command]` words. */
export function commandOfGuide(holds: string): string[] {
  const guide = readFileSync('docs/vllm-omni.md', 'utf8')
  const line = guide
    .split('\n')
    .map((text) => text.trim())
    .find((text) => text.startsWith('HORIZONSERVE_SEGMENT=') && text.includes(holds))
  if (line === undefined) throw new Error(`docs/vllm-omni.md has no command with ${holds}`)
  return line.split(/\s+/)
}

/** Starts a server by the guide's command, with a model and a platform of ours; says what was changed. */
export async function startServer(
  bench: Bench,
  words: readonly string[],
  segment: string,
  more: readonly string[],
  replace: Readonly<Record<string, string>>,
): Promise<Server> {
  const port = await freePort()
  const [assignment, ...command] = words
  const ours = command.map((word) => replace[word] ?? word)
  const added = [...more, '--port', String(port)]
  const changed = Object.entries(replace).map(([from, to]) => `${from} → ${to}`)
  console.log(`  the guide says:  ${assignment} ${command.join(' ')}`)
  console.log(
    `  changed: ${changed.join(', ')}, ${assignment} → ${segment}; added: ${added.join(' ')}`,
  )
  started += 1
  const logFile = join(bench.folder, `server-${started}.log`)
  const process_ = start([...ours, ...added], segment, logFile, bench.environment.env)
  const url = `http://127.0.0.1:${port}`
  const up = await until(
    async () => process_.hasEnded() || (await answers(`${url}/health`)),
    START_SECONDS,
    500,
  )
  if (!up || process_.hasEnded()) {
    throw new Error(`the server did not come up:\n${process_.log().slice(-6000)}`)
  }
  return { ...process_, url, segment }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(5000) })).ok
  } catch {
    return false
  }
}

const CONFIG = `
classes:
  text: { output: text, sloMs: 1000 }
  speech: { output: audio, sloMs: 8000 }
profile:
  text: { shared: { fixedMs: 20, promptTokens: [[1, 0.1]] } }
  speech: { shared: { fixedMs: 40, promptTokens: [[1, 0.1]] }, downstream: { fixedMs: 200 } }
longPathCap: 2
`

/** `horizonserve run` beside an engine. Resolves when it has told its port. */
export async function startController(
  bench: Bench,
  segment: string,
  more: readonly string[] = ['--wait'],
  config = CONFIG,
): Promise<Controller> {
  started += 1
  const file = join(bench.folder, `horizon-${started}.yaml`)
  writeFileSync(file, config)
  const command = [process.execPath, '--import', 'tsx', 'src/cli/main.ts', 'run']
  const process_ = start(
    [...command, '--config', file, '--segment', segment, '--metrics-port', '0', ...more],
    `controller-of-${segment}`,
    join(bench.folder, `controller-${started}.log`),
  )
  let port = ''
  await until(() => {
    port = /127\.0\.0\.1:(\d+)\/metrics/.exec(process_.log())?.[1] ?? ''
    return port !== '' || process_.hasEnded()
  }, 120)
  return {
    ...process_,
    async report() {
      try {
        const answer = await fetch(`http://127.0.0.1:${port}/report`, {
          signal: AbortSignal.timeout(5000),
        })
        return ((await answer.json()) as LinkReport | null) ?? undefined
      } catch {
        return undefined
      }
    },
    watchOnce: () =>
      spawnSync(
        process.execPath,
        ['--import', 'tsx', 'src/cli/main.ts', 'watch', '--metrics-port', port, '--once'],
        { encoding: 'utf8' },
      ).stdout,
  }
}

/** Fails a case with a sentence. */
export function check(holds: boolean, says: string): asserts holds {
  if (!holds) throw new Error(says)
}

/** Waits for a report that fits; the last one where none came. */
export async function reportWhere(
  controller: Controller,
  fits: (report: LinkReport) => boolean,
  seconds: number,
): Promise<{ readonly report: LinkReport | undefined; readonly fits: boolean }> {
  let report: LinkReport | undefined
  const found = await until(async () => {
    report = await controller.report()
    return report !== undefined && fits(report)
  }, seconds)
  return { report, fits: found }
}
