/** Short requests through a twin in a process of its own: every one accounted for, nothing left behind, and the memory of both. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { discoverClasses, runLoad, scheduleLoad, summarizeLoad } from '../../src/live/index.js'
import { runs } from '../support/runs.js'

let twin: ChildProcess
let url: string
beforeAll(async () => {
  const script = `
    import { createTwin, twinSpec } from './src/live/index.ts'
    const set = { 'shared.slots': 64, 'shared.hostMs': 1, 'downstream.slots': 16, 'downstream.hostMsPerUnit': 1, 'image.slots': 16, spokenAnswerTokens: 4 }
    const twin = await createTwin({ spec: twinSpec({ set }), policy: 'horizonserve' })
    console.log(twin.url)`
  twin = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(twin.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  url = String(line).trim()
})
afterAll(() => {
  twin.kill()
})

/** Resident memory of a process, MiB. */
const residentMib = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

it.skipIf(process.platform !== 'linux')(
  'many short requests: each has one outcome, the twin is empty afterwards, memory is printed',
  async () => {
    const total = runs(400, 200_000)
    const rate = runs(100, 150)
    const found = await discoverClasses(url)
    const classes = found.classes.map((of) => ({ ...of, answerTokens: 2, promptTokens: 16 }))
    const parts = 10
    const seen: { requests: number; twinMib: number; loadMib: number }[] = []
    let done = 0
    for (let part = 0; part < parts; part++) {
      const seconds = total / parts / rate
      const schedule = scheduleLoad({
        classes,
        rate,
        seconds,
        seed: part,
        arrivals: { kind: 'constant' },
      })
      const run = await runLoad({ url, classes, schedule, seed: part })
      const { met, missed, failed, rejected, undetermined, scheduled } = summarizeLoad({
        run,
        schedule,
        classes,
        url,
        seed: part,
      })
      expect(scheduled).toBe(schedule.size)
      expect(met + missed).toBe(scheduled)
      expect(failed + rejected + undetermined).toBe(0)
      done += scheduled
      seen.push({
        requests: done,
        twinMib: residentMib(twin.pid as number),
        loadMib: residentMib(process.pid),
      })
    }
    const page = await (await fetch(`${url}/metrics`)).text()
    expect(page).toMatch(/^horizonserve_in_flight 0$/m)
    expect(page).toMatch(/^horizonserve_waiting 0$/m)
    expect(page).toMatch(new RegExp(`^horizonserve_first_responses_total ${done}$`, 'm'))
    // The first half warms up: code, buffers, tables of connections.
    if (done < 10_000) return
    const late = seen.slice(parts / 2)
    console.log(
      `${done} requests; MiB per 100,000 requests over the second half: twin ${slope(late, 'twinMib')}, load ${slope(late, 'loadMib')}`,
    )
  },
)

/** Least squares. */
function slope(
  seen: readonly { requests: number; twinMib: number; loadMib: number }[],
  of: 'twinMib' | 'loadMib',
): string {
  const mean = (values: number[]): number => values.reduce((sum, v) => sum + v, 0) / values.length
  const x = mean(seen.map((one) => one.requests))
  const y = mean(seen.map((one) => one[of]))
  const top = seen.reduce((sum, one) => sum + (one.requests - x) * (one[of] - y), 0)
  const below = seen.reduce((sum, one) => sum + (one.requests - x) ** 2, 0)
  return ((top / below) * 100_000).toFixed(1)
}
