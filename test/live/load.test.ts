import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  discoverClasses,
  type LoadRecord,
  type LoadRun,
  loadResultSchema,
  parseLoadClasses,
  runLoad,
  scheduleLoad,
  summarizeLoad,
} from '../../src/live/index.js'
import { createAnswer } from '../../src/live/load/answer-reader.js'
import { monotonicMs } from '../../src/live/monotonic.js'
import { runs } from '../support/runs.js'
import {
  createTruthServer,
  type Sent,
  SILENCE,
  TONE,
  type TruthServer,
  wav,
} from './truth-server.js'

const CLASSES = parseLoadClasses(
  [
    { name: 'text', slo: { metric: 'ttft', ms: 5000 }, body: { play: 'text' } },
    { name: 'stall', slo: { metric: 'ttft', ms: 5000 }, body: { play: 'stall' } },
    { name: 'late', slo: { metric: 'ttft', ms: 1 }, body: { play: 'text' } },
    { name: 'speech', slo: { metric: 'ttfa', ms: 5000 }, body: { play: 'speech' } },
    { name: 'other', slo: { metric: 'ttfa', ms: 5000 }, body: { play: 'other-dialect' } },
    { name: 'empty', slo: { metric: 'ttfa', ms: 5000 }, body: { play: 'empty' } },
    { name: 'silent', slo: { metric: 'ttfa', ms: 5000 }, body: { play: 'silent' } },
    { name: 'error', slo: { metric: 'ttft', ms: 5000 }, body: { play: 'error' } },
    { name: 'broken', slo: { metric: 'ttft', ms: 5000 }, body: { play: 'broken' } },
    { name: 'short', slo: { metric: 'ttft', ms: 5000 }, body: { play: 'short' } },
    { name: 'refused', slo: { metric: 'ttft', ms: 5000 }, body: { play: '429' } },
    { name: 'busy', slo: { metric: 'ttft', ms: 5000 }, body: { play: '503' } },
    { name: 'fault', slo: { metric: 'ttft', ms: 5000 }, body: { play: '500' } },
    { name: 'raw', endpoint: '/v1/audio/speech', slo: { metric: 'ttfa', ms: 5000 } },
    { name: 'image', endpoint: '/v1/images/generations', slo: { metric: 'e2el', ms: 5000 } },
    {
      name: 'no-image',
      endpoint: '/v1/images/generations',
      slo: { metric: 'e2el', ms: 5000 },
      body: { play: 'none' },
    },
  ],
  'classes',
)

let server: TruthServer
let run: LoadRun
let startMs: number
const schedule = scheduleLoad({ classes: CLASSES, rate: 40, seconds: runs(8, 60), seed: 3 })
beforeAll(async () => {
  server = await createTruthServer()
  startMs = monotonicMs() + 300
  run = await runLoad({
    url: server.url,
    classes: CLASSES,
    schedule,
    seed: 3,
    share: { first: 0, step: 1, startMs },
  })
})
afterAll(() => server.close())

const of = (name: string): LoadRecord[] => run.records.filter((record) => record.class === name)
/**
 * Whether this machine had time to run us: a timer that comes late says that an answer is read late too. Without it the bounds from
 * above say nothing of the generator, and only those from below are checked.
 */
const hadTime = (records: readonly LoadRecord[]): boolean =>
  median(records.map((record) => record.sendLagMs)) < 1.5
const median = (values: number[]): number =>
  values.sort((a, b) => a - b)[values.length >> 1] as number

/** What the generator measured beyond what the server knows that it did, over all requests of a class: the median, for one may be held up by the machine. */
function excess(
  name: string,
  measured: (record: LoadRecord) => number | null,
  piece: keyof Sent,
): number {
  const errors = of(name).map((record) => {
    const truth =
      (server.sent.get(record.request)?.[piece] as number) - startMs - record.scheduledMs
    const error = (measured(record) as number) - truth
    // Nothing can be seen before it was written; a microsecond for rounding.
    expect(error).toBeGreaterThan(-0.01)
    return error - Math.max(0, truth * 0.01 - 2)
  })
  return hadTime(run.records) ? median(errors) : 0
}

describe('the load generator against a server whose delays are known', () => {
  it('counts every latency from the scheduled instant, within 2 ms or 1 % of what was really sent', () => {
    expect(run.records).toHaveLength(schedule.size)
    expect(excess('text', (record) => record.firstByteMs, 'role')).toBeLessThan(2)
    expect(excess('text', (record) => record.firstTokenMs, 'first')).toBeLessThan(2)
    expect(excess('text', (record) => record.firstResponseMs, 'first')).toBeLessThan(2)
    expect(excess('text', (record) => record.endMs, 'end')).toBeLessThan(2)
    expect(excess('stall', (record) => record.endMs, 'second')).toBeLessThan(2)
    expect(excess('speech', (record) => record.firstTokenMs, 'text')).toBeLessThan(2)
    expect(excess('speech', (record) => record.firstAudioMs, 'silence')).toBeLessThan(2)
    expect(excess('speech', (record) => record.firstResponseMs, 'sound')).toBeLessThan(2)
    expect(excess('other', (record) => record.firstAudioMs, 'silence')).toBeLessThan(2)
    expect(excess('other', (record) => record.firstResponseMs, 'sound')).toBeLessThan(2)
    expect(excess('raw', (record) => record.firstByteMs, 'header')).toBeLessThan(2)
    expect(excess('raw', (record) => record.firstAudioMs, 'silence')).toBeLessThan(2)
    expect(excess('raw', (record) => record.firstSoundMs, 'sound')).toBeLessThan(2)
    expect(excess('image', (record) => record.firstResponseMs, 'end')).toBeLessThan(2)
  })

  it('measures sound: its length, silence before it, real-time factor and a player that starts at the first chunk', () => {
    for (const record of of('speech')) {
      expect(record.audioSeconds).toBeCloseTo(0.3, 6)
      expect(record.leadingSilenceMs).toBeCloseTo(100, 0)
    }
    const sent = (record: LoadRecord) => server.sent.get(record.request) as Sent
    const errors = of('speech').map((record) => {
      const at = sent(record) as { silence: number; late: number }
      return Math.abs((record.underrunMs as number) - Math.max(0, at.late - at.silence - 200))
    })
    if (!hadTime(run.records)) return
    expect(median(errors)).toBeLessThan(2)
    const factors = of('speech').map((record) => {
      const truth = ((sent(record).late as number) - startMs - record.scheduledMs) / 300
      return Math.abs((record.realTimeFactor as number) / truth - 1)
    })
    expect(median(factors)).toBeLessThan(0.01)
    for (const record of of('raw')) expect(record.audioSeconds).toBeCloseTo(0.2, 6)
  })

  it('puts every request into one outcome, and an answer without sound is never met', () => {
    const outcomes = (name: string) => [...new Set(of(name).map((record) => record.outcome))]
    for (const name of ['text', 'stall', 'speech', 'other', 'raw', 'image'])
      expect(outcomes(name)).toEqual(['met'])
    expect(outcomes('late')).toEqual(['missed'])
    for (const name of ['empty', 'silent', 'no-image'])
      expect(outcomes(name)).toEqual(['undetermined'])
    for (const name of ['error', 'broken', 'short', 'fault'])
      expect(outcomes(name)).toEqual(['failed'])
    for (const name of ['refused', 'busy']) expect(outcomes(name)).toEqual(['rejected'])
    expect(of('error')[0]?.error).toBe('out of memory')

    const result = summarizeLoad({ run, schedule, classes: CLASSES, url: server.url, seed: 3 })
    expect(loadResultSchema.parse(JSON.parse(JSON.stringify(result)))).toEqual(result)
    const { met, missed, failed, rejected, undetermined, scheduled } = result
    expect(met + missed + failed + rejected + undetermined).toBe(scheduled)
    expect(scheduled).toBe(schedule.size)
    expect(result.classes.empty?.attainmentOverScheduled).toBe(0)
    expect(result.classes.speech?.attainmentOverScheduled).toBe(1)
    expect(result.valid).toBe((result.sendLagMs.p99 as number) <= 5)
  })
})

describe('no coordinated omission', () => {
  it('a server that stands still moves the tail as arithmetic says, with a cap and without', async () => {
    const stallMs = runs(600, 2000)
    for (const maxInFlight of [undefined, 2]) {
      let openedMs = Number.NaN
      let firstMs = Number.NaN
      // Everything that comes until the gate opens waits for it.
      const stalled = await createTruthServer(async () => {
        if (Number.isNaN(firstMs)) firstMs = monotonicMs()
        if (!Number.isNaN(openedMs)) return
        const leftMs = firstMs + stallMs - monotonicMs()
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, leftMs)))
        if (Number.isNaN(openedMs)) openedMs = monotonicMs()
      })
      try {
        const classes = parseLoadClasses(
          [{ name: 'text', slo: { metric: 'ttft', ms: 100 }, body: { play: 'stall' } }],
          'classes',
        )
        const steady = scheduleLoad({
          classes,
          rate: 50,
          seconds: (2 * stallMs) / 1000,
          seed: 1,
          arrivals: { kind: 'constant' },
        })
        const begin = monotonicMs() + 300
        const done = await runLoad({
          url: stalled.url,
          classes,
          schedule: steady,
          seed: 1,
          ...(maxInFlight === undefined ? {} : { maxInFlight }),
          share: { first: 0, step: 1, startMs: begin },
        })
        expect(done.records).toHaveLength(steady.size)
        const held = done.records.filter((record) => begin + record.scheduledMs < openedMs)
        expect(held.length).toBeGreaterThan(10)
        // Each waited at least until the gate opened, counted from when it should have left; arithmetic gives the percentiles.
        for (const record of held)
          expect(record.firstResponseMs).toBeGreaterThan(
            openedMs - begin - record.scheduledMs - 0.01,
          )
        if (maxInFlight === undefined) {
          const over = held.map(
            (record) =>
              (record.firstResponseMs as number) - (openedMs - begin - record.scheduledMs),
          )
          if (hadTime(done.records)) expect(median(over)).toBeLessThan(25)
        } else {
          const waits = held.map((record) => record.queueMs).sort((a, b) => a - b)
          expect(waits.at(-1)).toBeGreaterThan(stallMs / 2)
        }
      } finally {
        await stalled.close()
      }
    }
  })

  it('an interrupted run ends with what was measured', async () => {
    const classes = parseLoadClasses(
      [{ name: 'text', slo: { metric: 'ttft', ms: 10 }, body: { play: 'text' } }],
      'classes',
    )
    const held = await createTruthServer(() => new Promise(() => undefined))
    const stop = new AbortController()
    const plan = scheduleLoad({
      classes,
      rate: 100,
      seconds: 100,
      seed: 1,
      arrivals: { kind: 'constant' },
    })
    setTimeout(() => stop.abort(), 700)
    const cut = await runLoad({
      url: held.url,
      classes,
      schedule: plan,
      seed: 1,
      maxInFlight: 3,
      signal: stop.signal,
    })
    await held.close()
    expect(cut.interrupted).toBe(true)
    const result = summarizeLoad({ run: cut, schedule: plan, classes, url: held.url, seed: 1 })
    expect(result.scheduled + result.notReached).toBe(plan.size)
    expect(result.scheduled).toBeGreaterThan(3)
    // Past their SLO without an answer they are missed, whatever would have come.
    expect(result.missed + result.undetermined).toBe(result.scheduled)
    expect(result.missed).toBeGreaterThan(0)
  })
})

describe('what a server shows', () => {
  it('a server that lists neither models nor classes is sent text; one that is not there is named', async () => {
    const found = await discoverClasses(server.url)
    expect([found.model, found.classes.map((one) => one.name)]).toEqual([undefined, ['text']])
    const gone = await createTruthServer()
    await gone.close()
    await expect(discoverClasses(gone.url)).rejects.toThrow(/no server answers/)
  })
})

describe('reading an answer', () => {
  const [speech] = CLASSES.filter((one) => one.name === 'speech')
  const events = [
    { choices: [{ delta: { role: 'assistant', content: '' } }], modality: 'text' },
    { choices: [{ delta: { content: 'say "hello"\n' } }], modality: 'text' },
    { choices: [{ delta: { content: wav(SILENCE) } }], modality: 'audio' },
    {
      choices: [{ delta: { content: wav(Buffer.concat([SILENCE.subarray(0, 2400), TONE])) } }],
      modality: 'audio',
    },
    {
      choices: [{ delta: {}, finish_reason: 'stop' }],
      metrics: { stage_metrics: { 0: { stage_gen_time_ms: 7 } } },
    },
  ]

  it('does not depend on how the bytes were cut or how lines end', () => {
    for (const newline of ['\n', '\r\n']) {
      const pieces = events.map((event) =>
        Buffer.from(`data: ${JSON.stringify(event)}${newline}${newline}`),
      )
      const whole = Buffer.concat([...pieces, Buffer.from(`data: [DONE]${newline}${newline}`)])
      const ends = pieces.map((_, i) =>
        pieces.slice(0, i + 1).reduce((sum, piece) => sum + piece.length, 0),
      )
      for (const size of [1, 7, 1000, 4096, whole.length]) {
        const answer = createAnswer(speech as NonNullable<typeof speech>, {
          'content-type': 'text/event-stream',
        })
        // The instant of a piece is the place of the last byte read.
        for (let at = 0; at < whole.length; at += size)
          answer.chunk(whole.subarray(at, at + size), Math.min(whole.length, at + size))
        answer.end(whole.length + 1)
        const seenAt = (end: number): number => Math.min(whole.length, Math.ceil(end / size) * size)
        expect(answer.error).toBeUndefined()
        expect(answer.firstTokenMs).toBe(seenAt(ends[1] as number))
        expect(answer.sound.firstChunkMs).toBe(seenAt(ends[2] as number))
        expect(answer.sound.firstSoundMs).toBe(seenAt(ends[3] as number))
        expect(answer.sound.seconds).toBeCloseTo(0.25, 9)
        expect(answer.sound.leadingSilenceMs).toBeCloseTo(150, 0)
        expect(answer.stageMetrics).toEqual({ 0: { stage_gen_time_ms: 7 } })
      }
    }
  })

  it('says what it cannot read', () => {
    for (const text of ['data: {"choices": [\n\n', 'data: 7\n\n']) {
      const answer = createAnswer(speech as NonNullable<typeof speech>, {
        'content-type': 'text/event-stream',
      })
      answer.chunk(Buffer.from(text), 1)
      expect(answer.error).toMatch(/cannot be read/)
    }
  })
})

describe('what is sent', () => {
  it('is fixed by the seed, in the shares asked for', () => {
    const twoClasses = parseLoadClasses(
      [
        {
          name: 'a',
          slo: { metric: 'ttft', ms: 1 },
          weight: 3,
          promptTokens: { min: 10, max: 20 },
        },
        {
          name: 'b',
          slo: { metric: 'ttft', ms: 1 },
          weight: 1,
          promptTokens: { mean: 100, cv: 0.5 },
        },
      ],
      'classes',
    )
    const make = (seed: number) =>
      scheduleLoad({ classes: twoClasses, rate: 100, seconds: 100, seed })
    expect(make(5)).toEqual(make(5))
    expect(make(5).atMs).not.toEqual(make(6).atMs)
    const { size, classIndex, promptTokens } = make(5)
    const share = classIndex.reduce((sum, index) => sum + index, 0) / size
    expect(share).toBeGreaterThan(0.23)
    expect(share).toBeLessThan(0.27)
    const ofA = promptTokens.filter((_, i) => classIndex[i] === 0)
    expect([Math.min(...ofA), Math.max(...ofA)]).toEqual([10, 20])
    const onOff = scheduleLoad({
      classes: twoClasses,
      rate: 50,
      seconds: 60,
      seed: 1,
      arrivals: { kind: 'on-off', onSeconds: 2, offSeconds: 4 },
    })
    expect(onOff.atMs.every((time) => time % 6000 < 2000)).toBe(true)
    expect(Math.abs(onOff.size / 3000 - 1)).toBeLessThan(0.1)
  })
})
