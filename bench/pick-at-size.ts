/**
 * @module
 * One row of `pick.ts`: `node --expose-gc pick-at-size.js ENDPOINTS full|quick` prints it as JSON. Endpoints publish what the outlook of
 * a scheduler read at some turn of the step benches' steady state. Each is scraped every 50 ms, 20 requests/s are sent to each on
 * average and stay under way for four scrapes: so every pick corrects estimates that are up to 50 ms old.
 */
import { LONG } from '../src/core/request-class.js'
import {
  createEndpointBook,
  createEndpointOutlook,
  createPick,
  type EndpointSample,
  emptySample,
  endpointRule,
  type PickRequest,
  pickEndpoint,
} from '../src/policies/index.js'
import type { Spread } from './bench.js'
import { createRandom, createSteadyState } from './scheduler-workload.js'
import { spreadOf } from './spread.js'
import { turnTimed } from './turn.js'

const SCRAPE_MS = 50
/** Requests of this picker under way, per endpoint. */
const UNDER_WAY = 4
/** Turns of the engine between two samples. */
const TURNS_APART = 16

const [size, mode] = process.argv.slice(2)
process.stdout.write(JSON.stringify(measure(Number(size), mode === 'quick')))

function measure(numEndpoints: number, quick: boolean): Spread {
  const state = createSteadyState(64)
  const { classes } = state.scheduler
  const samples = published(state, 512)
  const paths = Array.from(classes.path, (path) => ({
    path: path === LONG ? ('long' as const) : ('short' as const),
  }))
  const book = createEndpointBook(paths)
  const rule = endpointRule()
  const request: PickRequest = { classIndex: 0, budgetMs: 0, affinity: -1, allowed: undefined }
  const out = createPick()
  const random = createRandom(99)
  let nowMs = 0
  for (let e = 0; e < numEndpoints; e++) {
    const place = book.add()
    book.beginScrape(place, nowMs)
    book.endScrape(place, samples[e % samples.length]!)
  }
  const sentTo = new Int32Array(numEndpoints * UNDER_WAY).fill(-1)
  const sentClass = new Int32Array(sentTo.length)

  const pick = (i: number): number => {
    const draw = random()
    const c = draw % classes.count
    request.classIndex = c
    request.budgetMs = classes.sloMs[c]!
    // Every other request belongs to a session.
    request.affinity = (draw & 8) === 0 ? -1 : (draw >>> 4) % numEndpoints
    const tie = (random() & 0xffff) / 0x10000
    const start = process.hrtime.bigint()
    pickEndpoint(rule, book, request, nowMs, tie, out)
    const ns = Number(process.hrtime.bigint() - start)
    const oldest = i % sentTo.length
    if (sentTo[oldest] !== -1) book.ended(sentTo[oldest]!, sentClass[oldest]!)
    sentTo[oldest] = out.endpoint
    sentClass[oldest] = c
    book.sent(out.endpoint, c)
    // Answers come up to a fifth later than predicted.
    book.responded(out.endpoint, out.predictedMs * (1 + (draw & 255) / 1280), out.predictedMs)
    // One scrape ends and the next of the same endpoint begins.
    const e = i % numEndpoints
    book.endScrape(e, samples[(i >>> 3) % samples.length]!)
    book.beginScrape(e, nowMs)
    nowMs += SCRAPE_MS / numEndpoints
    return ns
  }

  const picks = quick ? 5_000 : 50_000
  let i = 0
  while (i < 20_000) pick(i++)
  const timed = new Float64Array(picks)
  for (let k = 0; k < picks; k++) timed[k] = pick(i++)
  return spreadOf(timed)
}

/** What the outlook read at `count` moments of one engine. */
function published(state: ReturnType<typeof createSteadyState>, count: number): EndpointSample[] {
  const { scheduler } = state
  const outlook = createEndpointOutlook(scheduler, { downstreamConcurrency: 4 })
  state.fill()
  return Array.from({ length: count }, () => {
    for (let k = 0; k < TURNS_APART; k++) {
      turnTimed(state, true)
      outlook.tick(scheduler.cells[0]!)
    }
    const sample = emptySample(scheduler.classes.count)
    outlook.read(sample)
    return sample
  })
}
