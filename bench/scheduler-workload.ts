/**
 * @module
 * The steady state that the step benches share: eight classes (the paper's Qwen2.5-Omni), prompts log-uniform over 32 to 8,192 tokens,
 * `size` requests waiting. Each turn takes up to 8 from the view, admits them, reports progress, lets the oldest leave, and one of the
 * same class arrives for each. Seven classes have time to spare; one of the short path does not get through the queue in time, so
 * that at every size requests become protected or lost in most turns. A client whose request is lost gives up, and another comes. In a
 * `calm` state that class has time too, and nothing turns urgent.
 */
import { INPUT } from '../src/core/ports.js'
import { LONG } from '../src/core/request-class.js'
import { CHUNK_BITS, CHUNK_MASK, LOST, WAITING } from '../src/core/request-table.js'
import { createScheduler, type Scheduler } from '../src/core/scheduler.js'
import { horizonPolicy, requestProfiler } from '../src/policies/index.js'

export const TAKEN_PER_STEP = 8

/** Time between two steps, ms. */
const TURN_MS = 8

const NAMES = ['t2t', 'a2t', 'i2t', 'v2t', 't2a', 'a2a', 'i2a', 'v2a'] as const

/** The class whose requests do not get through the queue in time, the last of the short path. */
const TIGHT = 3

/** Roughly the age of the oldest request that waits, ms: a turn takes some 5 on average. */
const queueMs = (size: number): number => (size * TURN_MS) / 5

export type BenchScheduler = Scheduler<(typeof NAMES)[number]>

/** Draws of 30 bits that repeat after this many: from a table, for a number that needs more bits is boxed until its maker is inlined. */
const DRAWS = 1 << 16

/** Seeded, allocation-free: xorshift, drawn beforehand. */
export function createRandom(seed: number): () => number {
  const draws = new Int32Array(DRAWS)
  let x = seed | 1
  for (let i = 0; i < DRAWS; i++) {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    draws[i] = x & 0x3fffffff
  }
  let at = 0
  return () => {
    at = (at + 1) & (DRAWS - 1)
    return draws[at]!
  }
}

export function createBenchScheduler(size: number, calm = false): BenchScheduler {
  return createScheduler({
    classes: NAMES.map((name, i) => ({
      name,
      path: i < 4 ? ('short' as const) : ('long' as const),
      // Waiting times grow with the queue: SLOs do too, so that as many requests turn urgent in a turn at every size.
      sloMs: i === TIGHT && !calm ? 0.4 * queueMs(size) + 60 : 40 * queueMs(size) + 20_000,
      priority: i < 4 ? 0 : 10,
    })),
    profiler: requestProfiler(
      NAMES.map((name, i) => ({
        name,
        profile: {
          shared: {
            fixedMs: 8 + 4 * (i % 4),
            promptTokens: [
              [0, 4],
              [1024, 40],
              [8192, 380],
            ],
          },
          ...(i < 4 ? {} : { downstream: { fixedMs: 300 + 50 * i } }),
        },
      })),
    ),
    policy: horizonPolicy(),
    ladder: { totalSms: 142, levels: [40, 48, 56, 64, 80] },
    estimates: { downstreamConcurrency: 4 },
    capacity: { initialRequests: size + 4096, maxRequests: 1 << 21 },
  })
}

/** The steady state at one size. */
export interface SteadyState {
  readonly scheduler: BenchScheduler
  /** Handles taken from the view in this turn. */
  readonly taken: Int32Array
  /** One arrival of the class given, or of a random one (-1). */
  arrive(classIndex: number): void
  fill(): void
  /** What lies between two steps: progress, hand-overs, departures, and one arrival of the same class for each request that left. */
  settle(numTaken: number): void
}

export function createSteadyState(size: number, calm = false): SteadyState {
  const scheduler = createBenchScheduler(size, calm)
  const random = createRandom(12345)
  const { cells, inputs, table } = scheduler
  const taken = new Int32Array(64)
  const running = new Int32Array(64)
  let numRunning = 0
  /** Requests of the tight class in the order of their arrival, since the oldest that waits. */
  const tight = createRing(size)
  const arrive = (classIndex: number): void => {
    const draw = random()
    const octave = draw & 7
    inputs[INPUT.promptTokens] = (32 << octave) + (((draw >>> 8) & 31) << octave)
    const c = classIndex === -1 ? (draw >>> 16) & 7 : classIndex
    const handle = scheduler.arriveNow(c)
    if (c === TIGHT) tight.push(handle)
  }
  /** The oldest requests of the tight class are given up when they are lost, two at most. */
  const giveUp = (): void => {
    for (let left = 2; left > 0; ) {
      const handle = tight.first()
      if (handle === 0) return
      const slot = table.slotOf(handle)
      const chunk = table.chunks[slot >> CHUNK_BITS]
      const i = slot & CHUNK_MASK
      const isHere = slot !== -1 && chunk!.state[i] === WAITING
      if (isHere && chunk!.status[i] !== LOST) return
      tight.shift()
      if (!isHere) continue
      scheduler.cancel(handle)
      arrive(TIGHT)
      left -= 1
    }
  }
  return {
    scheduler,
    taken,
    arrive,
    fill() {
      for (let i = 0; i < size; i++) {
        cells[0] = cells[0]! + TURN_MS / 5
        arrive(-1)
      }
    },
    settle(numTaken) {
      for (let k = 0; k < numTaken; k++) {
        const handle = taken[k]!
        const slot = table.slotOf(handle)
        const classIndex = table.chunks[slot >> CHUNK_BITS]!.classIndex[slot & CHUNK_MASK]!
        scheduler.progress(handle, 1 << 20, 1)
        if (scheduler.classes.path[classIndex] === LONG) scheduler.enterDownstream(handle)
        if (numRunning === running.length) {
          scheduler.cancel(running[0]!)
          running.copyWithin(0, 1)
          numRunning -= 1
        }
        running[numRunning++] = handle
        arrive(classIndex)
      }
      giveUp()
      cells[0] = cells[0]! + TURN_MS
    },
  }
}

/** First in, first out; room for twice `size`, and never more in it than wait and were overtaken. */
function createRing(size: number): { push(handle: number): void; first(): number; shift(): void } {
  const capacity = 2 ** Math.ceil(Math.log2(2 * size))
  const handles = new Int32Array(capacity)
  let head = 0
  let tail = 0
  return {
    push(handle) {
      handles[tail] = handle
      tail = (tail + 1) & (capacity - 1)
    },
    /** 0 when it is empty. */
    first: () => (head === tail ? 0 : handles[head]!),
    shift() {
      head = (head + 1) & (capacity - 1)
    },
  }
}
