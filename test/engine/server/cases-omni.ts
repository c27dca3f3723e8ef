/**
 * @module
 * The real `vllm serve --omni` with two stages: started by the guide's command, steered by the real controller, asked over HTTP.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { removeIfDead, segmentPath } from '../../../src/adapters/discover.js'
import { brief, burst, differences, expectQuiet } from './books.js'
import { chat } from './client.js'
import { processesOf, until } from './processes.js'
import {
  type Bench,
  type Case,
  type Controller,
  check,
  commandOfGuide,
  reportWhere,
  type Server,
  startController,
  startServer,
} from './suite.js'

const stage = (id: number, seqs: number, more = ''): string => `
  - stage_id: ${id}
    devices: "0"
    max_num_seqs: ${seqs}
    max_num_batched_tokens: 1024
    max_model_len: 1024
    enforce_eager: true
    load_format: dummy
    dtype: float32
    gpu_memory_utilization: 0.05
    enable_prefix_caching: false${more}`
const SAMPLING = `
    default_sampling_params: { temperature: 0.0, max_tokens: 32, seed: 42, ignore_eos: true }`

/** Cases in the order they run; the server of one is the server of the next. */
export function omniCases(bench: Bench): Case[] {
  const segment = `server-omni-${process.pid}`
  const deploy = join(bench.folder, 'deploy.yaml')
  writeFileSync(
    deploy,
    `pipeline: tiny_speech\nasync_chunk: false\nstages:${stage(0, 8, SAMPLING)}${stage(1, 2)}\n`,
  )
  let server: Server
  let controller: Controller
  const bring = async (): Promise<void> => {
    server = await startServer(bench, commandOfGuide('--omni'), segment, [], {
      'Qwen/Qwen2.5-Omni-7B': bench.model,
      'deploy.yaml': deploy,
    })
  }
  const steer = async (): Promise<void> => {
    controller = await startController(bench, segment)
    const { report } = await reportWhere(controller, () => true, 60)
    check(report !== undefined, `the controller did not attach:\n${controller.log()}`)
  }

  const cli = (...args: string[]): string => {
    const done = spawnSync(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...bench.environment.env },
    })
    return done.stdout + done.stderr
  }

  return [
    {
      name: "the guide's command starts a server whose stages each say what is in force",
      async run() {
        await bring()
        const lines = server.log().split('\n')
        const said = [0, 1].map((id) =>
          lines.find((line) => line.includes(`horizonserve: stage ${id} runs`)),
        )
        check(said[0]?.includes('HorizonOmniARAsyncScheduler') === true, `stage 0 said: ${said[0]}`)
        check(
          said[1]?.includes('ReportingOmniGenerationScheduler') === true,
          `stage 1 said: ${said[1]}`,
        )
        return said.map((line) => line!.slice(line!.indexOf('horizonserve:'))).join('\n  ')
      },
    },
    {
      name: 'text is streamed and speech is a waveform, with and without a controller',
      async run() {
        const lone = await Promise.all(
          (['text', 'audio'] as const).map((kind) =>
            chat(server.url, bench.model, { id: `lone-${kind}`, kind, maxTokens: 16 }),
          ),
        )
        await steer()
        const steered = await Promise.all(
          (['text', 'audio'] as const).map((kind) =>
            chat(server.url, bench.model, { id: `steered-${kind}`, kind, maxTokens: 16 }),
          ),
        )
        for (const seen of [...lone, ...steered]) {
          check(seen.status === 'answered', `${seen.id}: ${seen.error}`)
          // 20 ms of sound for a token, 24,000 samples a second, two bytes each.
          if (seen.kind === 'audio')
            check(seen.soundBytes === 16 * 480 * 2, `${seen.id}: ${seen.soundBytes} bytes of sound`)
        }
        return steered.map((s) => `${s.kind} first after ${s.firstMs?.toFixed(0)} ms`).join(', ')
      },
    },
    {
      name: 'doctor --engine says from outside what the stages said; env finds the installed version',
      async run() {
        const doctor = cli('doctor', '--engine', segment)
        check(/controller process \d+, mode published/.test(doctor), `doctor: ${doctor}`)
        for (const id of [0, 1])
          check(new RegExp(`stage ${id}: process \\d+, alive`).test(doctor), `doctor: ${doctor}`)
        const env = cli(
          'env',
          '--engine',
          'vllm-omni',
          '--deploy',
          deploy,
          '--python',
          bench.environment.python,
          '--segment',
          segment,
        )
        check(
          env.includes(`export HORIZONSERVE_SEGMENT=${segment}`) &&
            env.includes('vllm-omni 0.30.0'),
          `env: ${env}`,
        )
        return doctor.trim().replaceAll('\n', '\n  ')
      },
    },
    {
      name: 'later stages are seen: activity, requests downstream, and a first response that is sound',
      async run() {
        let most = 0
        let active = false
        let running = true
        const look = (async () => {
          while (running) {
            const report = await controller.report()
            most = Math.max(most, report?.longDownstream ?? 0)
            active ||=
              report?.stages.some((s) => s.stage === 1 && s.running + s.waiting > 0) ?? false
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
        })()
        const before = await controller.report()
        const seen = await burst(server, bench.model, 24, 0, (kind) =>
          kind === 'audio' ? { maxTokens: 96 } : {},
        )
        running = false
        await look
        const report = await expectQuiet(controller)
        const picture = controller.watchOnce()
        check(/stage 1 {2}process \d+/.test(picture), `watch shows no stage 1:\n${picture}`)
        check(most > 0, 'no request was ever downstream')
        const speech = report.classes.findIndex((c) => c.name === 'speech')
        const answered =
          report.classes[speech]!.responded - (before?.classes[speech]?.responded ?? 0)
        const mean =
          (report.classes[speech]!.latencySumMs - (before?.classes[speech]?.latencySumMs ?? 0)) /
          answered
        const heard = seen.filter((s) => s.kind === 'audio').map((s) => s.firstMs ?? 0)
        const clients = heard.reduce((a, b) => a + b, 0) / heard.length
        // The engine answers before the client hears; a first token taken for a first sound would be far below.
        check(
          mean > 0.3 * clients && mean <= clients * 1.1,
          `first sound: controller ${mean.toFixed(0)} ms, clients ${clients.toFixed(0)} ms`,
        )
        return `at most ${most} downstream, stage 1 ${active ? 'seen at work' : 'never caught at work'}, first sound ${mean.toFixed(0)} ms by the controller, ${clients.toFixed(0)} ms by the clients`
      },
    },
    {
      name: 'controller, engine and clients keep the same books, request by request',
      async run() {
        const said: string[] = []
        for (let round = 1; round <= 5; round++) {
          const before = await expectQuiet(controller)
          const pauses = controller.log().match(/did not run for/g)?.length ?? 0
          const seen = await burst(server, bench.model, 30, 8)
          const failed = seen.filter((s) => s.status === 'failed')
          check(failed.length === 0, `clients failed: ${failed.map((s) => s.error).join('; ')}`)
          const after = await expectQuiet(controller)
          const wrong = differences(before, after, seen)
          if (wrong.length === 0)
            return `round ${round}: ${seen.filter((s) => s.status === 'answered').length} answered, ${seen.filter((s) => s.status === 'aborted').length} left; ${brief(after)}`
          // What happens while the controller does not run is not told to it; such a round says nothing.
          const paused = (controller.log().match(/did not run for/g)?.length ?? 0) > pauses
          said.push(`round ${round}${paused ? ' (controller paused)' : ''}: ${wrong.join('; ')}`)
          check(paused, said.join('\n'))
        }
        throw new Error(`no round without a pause of the controller:\n${said.join('\n')}`)
      },
    },
    {
      name: 'watching alone hides nothing, and the switch works at once, both ways',
      async run() {
        const most = async (): Promise<{ running: number; hidden: number }> => {
          const found = { running: 0, hidden: 0 }
          let busy = true
          const look = (async () => {
            while (busy) {
              const report = await controller.report()
              found.running = Math.max(found.running, report?.stages[0]?.running ?? 0)
              found.hidden = Math.max(found.hidden, report?.hidden ?? 0)
              await new Promise((resolve) => setTimeout(resolve, 5))
            }
          })()
          const seen = await burst(server, bench.model, 24, 0, () => ({
            kind: 'audio',
            maxTokens: 48,
          }))
          busy = false
          await look
          check(
            seen.every((s) => s.status === 'answered'),
            `clients failed: ${seen.map((s) => s.error ?? '').join(' ')}`,
          )
          await expectQuiet(controller)
          return found
        }
        const policy = await most()
        controller.signal('SIGUSR2')
        check(
          (await reportWhere(controller, (r) => r.observing, 10)).fits,
          'the switch did nothing',
        )
        const watched = await most()
        check(
          watched.running === 8,
          `at most ${watched.running} of 8 places were taken while only watching`,
        )
        check(watched.hidden > 0, 'nothing would have been hidden')
        controller.signal('SIGUSR2')
        check(
          (await reportWhere(controller, (r) => !r.observing, 10)).fits,
          'the switch back did nothing',
        )
        return `policy: at most ${policy.running} ran, ${policy.hidden} hidden; only watching: ${watched.running} ran, ${watched.hidden} would have been hidden`
      },
    },
    {
      name: 'one client id on several requests at once leaves nothing behind',
      async run() {
        const seen = await burst(server, bench.model, 9, 0, () => ({ id: 'the-same' }))
        await expectQuiet(controller, 60)
        const answered = seen.filter((s) => s.status === 'answered').length
        // vLLM-Omni itself may refuse a name in use; what it takes must be let go of.
        return `${answered} of ${seen.length} answered`
      },
    },
    {
      name: 'a paused controller leaves no ghosts, twice',
      async run() {
        for (let i = 0; i < 2; i++) {
          const running = burst(server, bench.model, 18, 4)
          await new Promise((resolve) => setTimeout(resolve, 150))
          controller.signal('SIGSTOP')
          await new Promise((resolve) => setTimeout(resolve, 700))
          controller.signal('SIGCONT')
          const seen = await running
          check(
            seen.every((s) => s.status !== 'failed'),
            `clients failed: ${seen.map((s) => s.error ?? '').join(' ')}`,
          )
          // The engine tells again what it holds with its next steps.
          await burst(server, bench.model, 3)
          await expectQuiet(controller, 30)
        }
        return undefined
      },
    },
    {
      name: 'kill -9 of the controller, twice: every request is answered, and the next controller starts clean',
      async run() {
        for (let i = 0; i < 2; i++) {
          const running = burst(server, bench.model, 18)
          await new Promise((resolve) => setTimeout(resolve, 100))
          controller.signal('SIGKILL')
          const seen = await running
          check(
            seen.every((s) => s.status === 'answered'),
            `clients failed: ${seen.map((s) => s.error ?? '').join(' ')}`,
          )
          await steer()
          const again = await burst(server, bench.model, 6)
          check(
            again.every((s) => s.status === 'answered'),
            'requests after the new controller were not answered',
          )
          await expectQuiet(controller)
        }
        return undefined
      },
    },
    {
      name: 'a second controller stands by and takes over when the first is killed',
      async run() {
        const second = await startController(bench, segment)
        check(
          await until(() => /another controller/.test(second.log()), 60),
          `the second said nothing:\n${second.log()}`,
        )
        check(
          !second.hasEnded() && (await second.report()) === undefined,
          'the second one steers, or has ended',
        )
        controller.signal('SIGKILL')
        const { report } = await reportWhere(second, () => true, 30)
        check(report !== undefined, `the second one did not take over:\n${second.log()}`)
        controller = second
        const seen = await burst(server, bench.model, 9)
        check(
          seen.every((s) => s.status === 'answered'),
          'requests after the change were not answered',
        )
        await expectQuiet(controller)
        return undefined
      },
    },
    {
      name: 'kill -9 of a stage, of the API server: nothing is left behind, and the next engine is taken up',
      async run() {
        const said: string[] = []
        for (const victim of ['stage 1', 'API server']) {
          const running = burst(server, bench.model, 12)
          await new Promise((resolve) => setTimeout(resolve, 150))
          const processes = processesOf(segment)
          const one =
            victim === 'API server'
              ? server.pid
              : (await controller.report())?.stages.find((s) => s.stage === 1)?.pid
          check(
            one !== undefined && one > 0 && processes.some((p) => p.pid === one),
            `${victim} was not found`,
          )
          process.kill(one, 'SIGKILL')
          const seen = await Promise.race([
            running,
            new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 60_000)),
          ])
          // vLLM-Omni may go on with text after it lost a stage; whoever runs it ends it then.
          const byItself = await until(() => server.hasEnded(), victim === 'API server' ? 30 : 20)
          if (!byItself) server.signal('SIGTERM')
          const gone = await until(() => processesOf(segment).length === 0, 90)
          check(
            gone,
            `left behind: ${processesOf(segment)
              .map((p) => `${p.pid} ${p.title.slice(0, 80)}`)
              .join('; ')}`,
          )
          check(
            await until(() => removeIfDead(segmentPath(segment)), 10),
            'the segment still counts as alive',
          )
          check(!controller.hasEnded(), `the controller ended:\n${controller.log().slice(-2000)}`)
          said.push(
            `${victim}: ${seen === undefined ? 'clients waited on' : `${seen.filter((s) => s.status === 'answered').length} of ${seen.length} answered`}, server ${byItself ? 'ended by itself' : 'was ended'}`,
          )
          if (victim === 'API server') continue
          await bring()
          const { report } = await reportWhere(controller, (r) => r.stages.length === 2, 60)
          check(
            report !== undefined,
            `the controller did not take up the next engine:\n${controller.log().slice(-2000)}`,
          )
          const again = await burst(server, bench.model, 6)
          check(
            again.every((s) => s.status === 'answered'),
            'the next engine did not answer',
          )
          await expectQuiet(controller)
        }
        controller.signal('SIGTERM')
        await controller.ended
        return said.join('; ')
      },
    },
  ]
}
