/**
 * @module
 * Measures a running server from outside: each class alone over a ladder of input sizes, then probes that overlap. Nothing is assumed of
 * how its times come about: profiles are tables of what was measured, and checked at sizes between.
 */
import { HorizonError } from '../../core/index.js'
import type { SoloRecord } from '../../sim/index.js'
import type { ProbedClass } from './facts.js'
import { backPressure, downstreamPlaces, sharedPlaces } from './places.js'
import { firstResponseMs, type ProbeServer, type ProbeShape, type ProbeTimes } from './probe.js'
import { measureRung, type Rung, type RungOptions } from './rung.js'

export interface AttachOptions extends RungOptions {
  readonly server: ProbeServer
  readonly classes: readonly ProbedClass[]
  /** Sizes of the ladder. @default prompts of 16 to 1024 tokens, speech of 1 to 16 s, 1 to 4 pictures */
  readonly ladders?: Partial<Record<ProbedClass['varies'], readonly number[]>>
  readonly onProgress?: (what: string) => void
}

export interface AttachedClass {
  readonly name: string
  readonly varies: ProbedClass['varies']
  readonly rungs: readonly Rung[]
  /** p95 of the first response over all rungs, ms. */
  readonly soloP95Ms: number
  readonly records: readonly SoloRecord[]
  /** At sizes between the rungs: measured median and what the table says. */
  readonly heldOut: readonly {
    readonly size: number
    readonly measuredMs: number
    readonly saidMs: number
  }[]
  /** How the time was split between the stages. */
  readonly split: 'stage metrics' | 'text, then sound' | 'not determined'
  /** Whether its text comes before its sound; undefined where it has not both. */
  readonly textFirst: boolean | undefined
  /** Whether its sound comes in several parts. */
  readonly inChunks: boolean | undefined
}

export interface Attached {
  readonly classes: readonly AttachedClass[]
  /** undefined: not determined. */
  readonly places: { readonly shared: number | undefined; readonly downstream: number | undefined }
  readonly backPressure: boolean | undefined
}

const LADDERS = {
  promptTokens: [16, 64, 256, 1024],
  audioSeconds: [1, 4, 16],
  images: [1, 2, 4],
} as const

/** Throws `ERR_LIVE_BUSY` while others use the server, before, between and after. */
export async function attach(options: AttachOptions): Promise<Attached> {
  const { server, classes, onProgress } = options
  await refuseBusy(server)
  const attached: AttachedClass[] = []
  for (const of of classes) {
    onProgress?.(`${of.name} alone`)
    attached.push(await measureClass(of, options))
    await refuseBusy(server)
  }
  onProgress?.('places of the shared stage')
  const text = attached.find((of) => of.name === 't2t')
  const speech = attached.find((of) => of.name === 't2a')
  const shared = text && (await sharedPlaces(server))
  onProgress?.('places of the downstream stage')
  const long = speech?.rungs[0]
  const downstream = long && (await downstreamPlaces(server, long.shape))
  onProgress?.('back-pressure')
  const held =
    text === undefined || long === undefined || shared === undefined || downstream === undefined
      ? undefined
      : await backPressure(
          server,
          long.shape,
          { shared, downstream },
          text.rungs[0]!.medianMs,
          longestMs(long),
        )
  await refuseBusy(server)
  return { classes: attached, places: { shared, downstream }, backPressure: held }
}

async function measureClass(of: ProbedClass, options: AttachOptions): Promise<AttachedClass> {
  const sizes = options.ladders?.[of.varies] ?? LADDERS[of.varies]
  const rungs: Rung[] = []
  for (const size of sizes) {
    const rung = await measureRung(options.server, { ...of.base, [of.varies]: size }, options)
    // Beyond what the model takes: the ladder ends here.
    if (rung === undefined) break
    rungs.push(rung)
  }
  if (rungs.length === 0) {
    throw new HorizonError('ERR_LIVE_PROBE', 'a class that was answered once is not any more', {
      field: of.name,
      expected: `an answer to a request of ${of.varies} ${sizes[0]}`,
    })
  }
  const all = rungs.flatMap((rung) => rung.times)
  const output = of.base.output
  const sorted = all.map((one) => firstResponseMs(output, one)).sort((a, b) => a - b)
  const split = splitOf(output, all)
  const heldOut: AttachedClass['heldOut'][number][] = []
  for (let i = 1; i < rungs.length; i++) {
    const size = between(sizes[i - 1]!, sizes[i]!)
    if (size === sizes[i - 1]) continue
    const shape = { ...of.base, [of.varies]: size }
    const rung = await measureRung(options.server, shape, options)
    if (rung === undefined) continue
    const [a, b] = [rungs[i - 1]!.medianMs, rungs[i]!.medianMs]
    const at = (size - sizes[i - 1]!) / (sizes[i]! - sizes[i - 1]!)
    heldOut.push({ size, measuredMs: rung.medianMs, saidMs: a + at * (b - a) })
  }
  const hasBoth = output === 'audio' && all.every((one) => Number.isFinite(one.firstTextMs))
  return {
    name: of.name,
    varies: of.varies,
    rungs,
    soloP95Ms: sorted[Math.ceil(0.95 * sorted.length) - 1]!,
    records: rungs.flatMap((rung) =>
      rung.times.map((one) => record(of.name, rung.shape, one, split)),
    ),
    heldOut,
    split,
    textFirst: hasBoth ? all.every((one) => one.firstTextMs < one.firstSoundMs) : undefined,
    inChunks: output === 'audio' ? all.some((one) => one.soundChunks > 1) : undefined,
  }
}

/** In the middle of two sizes as they are spaced. */
function between(a: number, b: number): number {
  return Math.round(Math.sqrt(a * b))
}

function splitOf(
  output: ProbeShape['output'],
  times: readonly ProbeTimes[],
): AttachedClass['split'] {
  if (output === 'text') return 'stage metrics'
  if (times.every((one) => one.stages.length > 1 && one.stages[0]!.busyMs >= 0))
    return 'stage metrics'
  return times.every((one) => one.lastTextMs < one.firstSoundMs)
    ? 'text, then sound'
    : 'not determined'
}

/** What the stages cannot be told apart in is booked to the shared one: a policy then holds back too much rather than too little. */
function record(
  name: string,
  shape: ProbeShape,
  times: ProbeTimes,
  split: AttachedClass['split'],
): SoloRecord {
  const firstMs = firstResponseMs(shape.output, times)
  const wholeMs = times.endMs - times.startMs
  const isShort = shape.output === 'text'
  const handedOverMs =
    split === 'stage metrics'
      ? wholeMs - times.stages.slice(1).reduce((sum, stage) => sum + stage.busyMs, 0)
      : times.lastTextMs - times.startMs
  const sharedMs =
    isShort || split === 'not determined' ? firstMs : Math.min(firstMs, Math.max(0, handedOverMs))
  const { promptTokens, audioSeconds, images } = shape
  return {
    class: name,
    promptTokens: Number.isFinite(times.promptTokens) ? times.promptTokens : promptTokens,
    audioSeconds,
    images,
    videos: 0,
    sharedMs,
    downstreamMs: firstMs - sharedMs,
    downstreamBusyMs: isShort ? 0 : Math.max(0, wholeMs - sharedMs),
    firstResponseMs: firstMs,
  }
}

function longestMs(rung: Rung): number {
  return Math.max(...rung.times.map((one) => one.endMs - one.startMs))
}

async function refuseBusy(server: ProbeServer): Promise<void> {
  const busy = await server.numBusy()
  if (!(busy > 0)) return
  throw new HorizonError(
    'ERR_LIVE_BUSY',
    'the server is busy with others: nothing can be measured alone',
    {
      field: '/metrics',
      expected: 'no request that runs or waits',
      got: busy,
      hint: 'Take the server out of its balancer, wait until it is idle, and attach again',
    },
  )
}
