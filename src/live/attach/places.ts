/**
 * @module
 * How many requests a stage takes at once, and whether a long-path request keeps its shared-stage place until the next stage takes it:
 * shown by probes that overlap. Where what came back does not settle it, the answer is undefined, not a guess.
 */
import { isAnswered, type ProbeServer, type ProbeShape, type ProbeTimes } from './probe.js'

/** More places than this are not told apart. */
export const MOST_PLACES = 64

const TEXT: ProbeShape = {
  output: 'text',
  promptTokens: 16,
  audioSeconds: 0,
  images: 0,
  answerTokens: 32,
}

/**
 * Places of the shared stage: of so many short requests sent at once, how many have a first token before any has ended. Twice the same,
 * or undefined.
 */
export async function sharedPlaces(server: ProbeServer): Promise<number | undefined> {
  for (let sent = 4; sent <= 2 * MOST_PLACES; sent *= 2) {
    const seen: number[] = []
    for (let again = 0; again < 2; again++) {
      const times = await together(server, TEXT, sent)
      if (times.some((one) => !isAnswered('text', one))) return undefined
      const firstEndMs = Math.min(...times.map((one) => one.endMs))
      seen.push(times.filter((one) => one.firstTextMs < firstEndMs).length)
    }
    if (seen[0] !== seen[1]) return undefined
    if (seen[0]! < sent) return seen[0]
  }
  return undefined
}

/** When a long request was in its downstream stage. */
interface Stay {
  /** It left the shared stage, or NaN. */
  readonly handedOverMs: number
  readonly fromMs: number
  readonly toMs: number
}

function stayOf(times: ProbeTimes): Stay {
  const [shared, ...later] = times.stages
  const busyMs = later.reduce((sum, stage) => sum + stage.busyMs, 0)
  const toMs = times.endMs
  // Told by the server; or seen, where its text is streamed to the end before the hand-over.
  const handedOverMs = times.lastTextMs
  return { handedOverMs, fromMs: shared === undefined ? Number.NaN : toMs - busyMs, toMs }
}

/** Waited longer than this part of a stay: it found no place. */
const WAITED = 0.05

/**
 * Places downstream: most stays at one moment, where others were handed over and waited meanwhile. Needs the stage times of the server
 * and its text streamed.
 */
export async function downstreamPlaces(
  server: ProbeServer,
  long: ProbeShape,
): Promise<number | undefined> {
  for (let sent = 3; sent <= MOST_PLACES; sent *= 2) {
    const seen: (number | undefined)[] = []
    for (let again = 0; again < 2; again++) {
      const times = await together(server, long, sent)
      if (times.some((one) => !isAnswered(long.output, one))) return undefined
      seen.push(mostStays(times.map(stayOf)))
    }
    if (seen[0] !== seen[1]) return undefined
    if (seen[0] !== undefined) return seen[0]
  }
  return undefined
}

function mostStays(stays: readonly Stay[]): number | undefined {
  if (stays.some((stay) => Number.isNaN(stay.fromMs) || Number.isNaN(stay.handedOverMs)))
    return undefined
  let most = 0
  let isFull = false
  for (const { fromMs, toMs } of stays) {
    const slack = WAITED * (toMs - fromMs)
    const beside = stays.filter((of) => of.fromMs <= fromMs + slack && of.toMs > fromMs + slack)
    const waits = stays.some(
      (of) => of.handedOverMs < fromMs + slack && of.fromMs > fromMs + 2 * slack,
    )
    if (beside.length > most) {
      most = beside.length
      isFull = waits
    } else if (beside.length === most) isFull ||= waits
  }
  return isFull ? most : undefined
}

/**
 * Whether long requests that wait for the downstream stage keep their shared-stage places: as many are sent as fill both stages, short
 * ones beside them. undefined: never were all places of the shared stage held by requests that waited.
 */
export async function backPressure(
  server: ProbeServer,
  long: ProbeShape,
  places: { readonly shared: number; readonly downstream: number },
  soloTextMs: number,
  soloLongMs: number,
): Promise<boolean | undefined> {
  const sent = places.shared + places.downstream + 2
  if (sent > MOST_PLACES) return undefined
  const spanMs = (soloLongMs * sent) / places.downstream
  const everyMs = Math.max(3 * soloTextMs, spanMs / 24)
  const shorts: Promise<ProbeTimes>[] = []
  const shape = { ...TEXT, answerTokens: 1 }
  for (let delayMs = everyMs; delayMs < spanMs; delayMs += everyMs)
    shorts.push(server.probe({ ...shape, delayMs }))
  const longs = await together(server, long, sent)
  const texts = await Promise.all(shorts)
  if (longs.some((one) => !isAnswered(long.output, one))) return undefined
  const stays = longs.map(stayOf)
  if (stays.some((stay) => Number.isNaN(stay.fromMs) || Number.isNaN(stay.handedOverMs)))
    return undefined
  let free = 0
  let held = 0
  for (const text of texts) {
    if (!isAnswered('text', text)) continue
    const waiting = stays.filter(
      (of) => of.handedOverMs < text.startMs && of.fromMs > text.startMs + soloTextMs,
    )
    if (waiting.length < places.shared) continue
    // The first of them that the downstream stage takes is the first to free a place.
    const freedMs = Math.min(...waiting.map((of) => of.fromMs))
    if (freedMs - text.startMs < 3 * soloTextMs) continue
    if (text.firstTextMs < freedMs - soloTextMs / 2) free += 1
    else if (text.firstTextMs >= freedMs) held += 1
  }
  if (free + held === 0 || (free > 0 && held > 0)) return undefined
  return held > 0
}

function together(server: ProbeServer, shape: ProbeShape, count: number): Promise<ProbeTimes[]> {
  return Promise.all(Array.from({ length: count }, () => server.probe(shape)))
}
