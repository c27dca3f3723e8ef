import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { removeIfDead, segmentPath } from '../../src/adapters/discover.js'
import { EXIT } from '../../src/cli/command.js'
import { draw } from '../../src/cli/commands/watch.js'
import { runCli } from '../../src/cli/main.js'

const hasPython = spawnSync('python3', ['--version']).status === 0 && process.platform === 'linux'
let engine: ChildProcess | undefined
afterEach(async () => {
  const child = engine
  engine = undefined
  if (child === undefined) return
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null)
    await new Promise((resolve) => child.once('exit', resolve))
  // A killed process leaves its segment behind.
  removeIfDead(segmentPath(child.spawnargs.at(-1)!))
})

const CONFIG = `
classes:
  text: { output: text, sloMs: 200 }
profile:
  text: { shared: { fixedMs: 5 } }
`

function configFile(text = CONFIG): string {
  const file = join(mkdtempSync(join(tmpdir(), 'run-')), 'horizon.yaml')
  writeFileSync(file, text)
  return file
}

async function cli(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = ''
  let err = ''
  const code = await runCli(args, {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    progress: false,
    columns: 100,
  })
  return { code, out, err }
}

describe('horizonserve run', () => {
  it('says what is missing when there is no engine', async () => {
    const { code, err } = await cli('run', '--config', configFile(), '--segment', 'not-there')
    expect(code).toBe(EXIT.unavailable)
    expect(err).toContain('pass --wait')
  })

  it('refuses options and files that make no sense', async () => {
    const file = configFile()
    expect((await cli('run', '--config', file, '--mode', 'telepathy')).code).toBe(EXIT.badInput)
    expect((await cli('run', '--config', file, '--segment', '../x')).code).toBe(EXIT.badInput)
    expect((await cli('run', '--config', configFile('classes: 3'))).code).toBe(EXIT.badInput)
    expect((await cli('run', '--config', file, '--poll-ms', 'often')).code).toBe(EXIT.badInput)
    const page = 'http://127.0.0.1:8091/metrics'
    const alone = await cli('run', '--config', file, '--merge-metrics', page)
    expect(alone.code).toBe(EXIT.badInput)
    expect(alone.err).toContain('--metrics-port')
    for (const url of ['8091', 'ftp://127.0.0.1/metrics', 'http://me:secret@127.0.0.1/metrics']) {
      const { code } = await cli(
        ...['run', '--config', file, '--metrics-port', '0', '--merge-metrics', url],
      )
      expect(code).toBe(EXIT.badInput)
    }
  })

  it.skipIf(!hasPython)(
    'steers an engine, shows it, takes up a changed file and refuses a bad one, once more at SIGHUP',
    async () => {
      const name = `cli-${process.pid}`
      const child = spawn('python3', ['test/controller/stage_peer.py', name], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      engine = child
      await new Promise((resolve) => child.stdout.once('data', resolve))
      const file = configFile()
      let err = ''
      let refusals = 0
      let picture: Promise<string> | undefined
      const running = runCli(
        ['run', '--config', file, '--segment', name, '--metrics-port', '0', '--log', 'decisions'],
        {
          out: () => {},
          err: (text) => {
            err += text
            const port = /127\.0\.0\.1:(\d+)/.exec(text)?.[1]
            if (port !== undefined)
              picture = cli('watch', '--metrics-port', port, '--once').then(({ out }) => out)
            if (text.includes('attached'))
              setTimeout(() => writeFileSync(file, `${CONFIG}uGuard: 3\n`), 150)
            if (text.includes('reloaded'))
              setTimeout(() => writeFileSync(file, `${CONFIG}uGuard: -3\n`), 150)
            if (text.includes('refused')) process.emit(++refusals === 1 ? 'SIGHUP' : 'SIGTERM')
          },
          progress: false,
          columns: 100,
        },
      )
      expect(await running).toBe(EXIT.ok)
      expect(await picture).toContain('stage 0')
      expect(err).toContain('attached to the engine')
      expect(err).toContain('reloaded')
      expect(refusals).toBe(2)
      expect(err).toMatch(/refused, the configuration before it stays in force.*uGuard/)
      expect(err).toContain('the engine goes on by itself')
    },
  )

  it.skipIf(!hasPython).each(['published', 'lockstep'])(
    'records what it decides, %s, and the recording is repeated',
    async (mode) => {
      const name = `record-${mode}-${process.pid}`
      const child = spawn('python3', ['test/controller/stage_peer.py', name], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      engine = child
      await new Promise((resolve) => child.stdout.once('data', resolve))
      // What it has not read when it is killed is of no interest.
      child.stdin.on('error', () => {})
      const file = configFile()
      const recording = join(mkdtempSync(join(tmpdir(), 'record-')), 'run.jsonl')
      const recorded = (): number =>
        existsSync(recording) ? readFileSync(recording, 'utf8').split('["a",').length - 1 : 0
      const question = mode === 'lockstep' ? 'ask' : 'step'
      let k = 0
      let isAttached = false
      // What comes before a lockstep worker has started is not read: it goes on until enough is recorded.
      const look = setInterval(() => {
        if (recorded() >= 40) process.emit('SIGTERM')
        else if (isAttached) {
          k += 1
          child.stdin.write(
            `arrive ${k} 0 100\n${question} ${k}\nadmit ${k}\nfirst ${k}\nfinish ${k}\n`,
          )
        }
      }, 20)
      const code = runCli(
        ['run', '--config', file, '--segment', name, '--mode', mode, '--record', recording],
        {
          out: () => {},
          err: (text) => {
            if (text.includes('attached')) isAttached = true
          },
          progress: false,
          columns: 100,
        },
      )
      expect(await code).toBe(EXIT.ok)
      clearInterval(look)
      const { out, code: same } = await cli('replay', recording, '--json')
      expect(same).toBe(EXIT.ok)
      const replay = JSON.parse(out) as { identical: boolean; steps: number; arrivals: number }
      expect(replay.identical).toBe(true)
      expect(replay.arrivals).toBeGreaterThanOrEqual(40)
      expect(replay.steps).toBeGreaterThan(0)
      const at = await cli('replay', recording, '--at', String(replay.steps - 1))
      expect(at.out).toContain(`step ${replay.steps - 1}:`)
      expect((await cli('replay', recording, '--at', '9999999')).code).toBe(EXIT.badInput)
      expect((await cli('replay', file)).code).toBe(EXIT.badInput)
    },
  )

  it('draws nothing where there is no engine', () => {
    expect(draw(undefined, undefined, 500)).toBe('waiting for an engine\n')
  })
})
