/**
 * @module
 * The real `vllm serve`: an engine core in a process of its own, one stage.
 */
import { removeIfDead, segmentPath } from '../../../src/adapters/discover.js'
import { burst, differences, expectQuiet } from './books.js'
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

/** What a plain engine needs to run without a GPU and without weights. */
// biome-ignore format: one line of words
const ON_CPUS = ['--load-format', 'dummy', '--dtype', 'float32', '--enforce-eager', '--max-model-len', '1024', '--max-num-seqs', '8', '--no-enable-prefix-caching', '--generation-config', 'vllm']

export function plainCases(bench: Bench): Case[] {
  const segment = `server-plain-${process.pid}`
  let server: Server
  let controller: Controller
  const bring = async (): Promise<void> => {
    server = await startServer(bench, commandOfGuide('vllm serve MODEL'), segment, ON_CPUS, {
      MODEL: bench.model,
    })
  }
  // A plain engine has no stages after its own: its classes differ by what the request says.
  const play = (count: number, leaves = 0) =>
    burst(server, bench.model, count, leaves, (kind) => ({
      kind: 'text',
      more: { vllm_xargs: { modalities: kind }, ignore_eos: true },
    }))

  return [
    {
      name: "plain vLLM: the guide's command, the books of a burst",
      async run() {
        await bring()
        const line = server
          .log()
          .split('\n')
          .find((text) => text.includes('horizonserve: stage 0 runs'))
        check(line?.includes('HorizonAsyncScheduler') === true, `stage 0 said: ${line}`)
        controller = await startController(bench, segment)
        const { report } = await reportWhere(controller, () => true, 60)
        check(report !== undefined, `the controller did not attach:\n${controller.log()}`)
        for (let round = 1; round <= 5; round++) {
          const before = await expectQuiet(controller)
          const pauses = controller.log().match(/did not run for/g)?.length ?? 0
          const seen = await play(24, 6)
          check(
            seen.every((s) => s.status !== 'failed'),
            `clients failed: ${seen.map((s) => s.error ?? '').join(' ')}`,
          )
          const after = await expectQuiet(controller)
          const wrong = differences(before, after, seen).filter(
            (text) => !text.startsWith('first responses'),
          )
          if (wrong.length === 0)
            return `round ${round}: ${seen.filter((s) => s.status === 'answered').length} answered, ${seen.filter((s) => s.status === 'aborted').length} left`
          check(
            (controller.log().match(/did not run for/g)?.length ?? 0) > pauses,
            wrong.join('; '),
          )
        }
        throw new Error('no round without a pause of the controller')
      },
    },
    {
      name: 'plain vLLM: kill -9 of the engine core and of the API server, twice each: nothing is left, the next engine is taken up',
      async run() {
        const said: string[] = []
        const victims = ['engine core', 'API server', 'engine core', 'API server']
        for (const [at, victim] of victims.entries()) {
          if (at > 0) await bring()
          const { report } = await reportWhere(
            controller,
            (r) =>
              r.stages.length === 1 && processesOf(segment).some((p) => p.pid === r.stages[0]!.pid),
            60,
          )
          check(
            report !== undefined,
            `the controller did not take up the next engine:\n${controller.log().slice(-2000)}`,
          )
          const one = victim === 'API server' ? server.pid : report.stages[0]!.pid
          const running = play(12)
          await new Promise((resolve) => setTimeout(resolve, 150))
          process.kill(one, 'SIGKILL')
          await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 60_000))])
          const byItself = await until(() => server.hasEnded(), 60)
          if (!byItself) server.signal('SIGTERM')
          check(
            await until(() => processesOf(segment).length === 0, 90),
            `left behind: ${processesOf(segment)
              .map((p) => `${p.pid} ${p.title.slice(0, 80)}`)
              .join('; ')}`,
          )
          check(
            await until(() => removeIfDead(segmentPath(segment)), 10),
            'the segment still counts as alive',
          )
          check(!controller.hasEnded(), `the controller ended:\n${controller.log().slice(-2000)}`)
          said.push(`${victim}: server ${byItself ? 'ended by itself' : 'was ended'}`)
        }
        controller.signal('SIGTERM')
        await controller.ended
        return said.join('; ')
      },
    },
  ]
}
