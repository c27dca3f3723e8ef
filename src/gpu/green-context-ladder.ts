/**
 * @module
 * The ladder on a GPU: every level created once at start, so that a switch is one `cuCtxSetCurrent`.
 *
 * One split gives all rows; row k is its first k groups for the shared side, everything else for the downstream side. Counts
 * are what the driver reports, rows that it refuses are dropped with the reason. The last co-running row is followed by
 * the aggressive row and by "off", the whole device through the primary context. A Green Context bounds its own work and
 * reserves nothing: work in a primary context still runs on every SM.
 */
import { HorizonError } from '../core/errors.js'
import type { CudaLibrary } from './cuda.js'
import type { GpuDevice } from './device.js'
import { createStreamIn } from './green-context.js'
import { type CutLadder, cutDescribed, cutWanted, splitDevice } from './ladder-build.js'
import type { DescribedRow, LadderDescription } from './ladder-description.js'
import {
  checkAggressiveSms,
  checkWantedSms,
  type DroppedLevel,
  type SplitShape,
} from './ladder-plan.js'
import { closeRow, type RowMaterial, type Side } from './ladder-row.js'
import { allocateResources, queryDeviceSms, readCounts } from './sm-resource.js'

/** One row of a ladder. */
export interface LadderRow extends DescribedRow {
  readonly index: number
  readonly kind: 'co-running' | 'aggressive' | 'off'
}

/** How to build a ladder: from SM counts, or from what another process described. */
export interface GreenContextLadderOptions {
  /** Wanted SM counts of the shared side while a downstream stage runs. */
  readonly levels?: readonly number[]
  /** Wanted SMs while none runs. @default all of the device */
  readonly aggressiveSms?: number
  /** Instead of `levels`: exactly these rows, or an error. */
  readonly description?: LadderDescription
  /** Sides to create contexts for. @default both */
  readonly sides?: readonly Side[]
  /** Split and count, create nothing. @default false */
  readonly dryRun?: boolean
  /** Stream priority, lower is more urgent. @default 0 */
  readonly priority?: number
}

/** The rows of a device with their contexts. Belongs to one thread: another one builds its own from `describe()`. */
export interface GreenContextLadder {
  readonly device: GpuDevice
  readonly totalSms: number
  readonly isDryRun: boolean
  /** Co-running rows rising, then the aggressive row, then `off`. */
  readonly rows: readonly LadderRow[]
  readonly aggressiveIndex: number
  readonly offIndex: number
  /** Wishes without a row, and why. */
  readonly dropped: readonly DroppedLevel[]
  /** `CUcontext` of a row. @throws `ERR_GPU_LADDER_CLOSED`, `ERR_GPU_LEVELS`, `ERR_GPU_DRY_RUN` */
  context(index: number, side: Side): bigint
  /** `CUstream` of a row. */
  stream(index: number, side: Side): bigint
  isClosed(): boolean
  describe(): LadderDescription
  /** Makes the primary context current on this thread and destroys the others. Idempotent. */
  close(): void
}

/** Builds the ladder; the calling thread keeps its current context, and a failure leaves nothing behind. */
export function createGreenContextLadder(
  cuda: CudaLibrary,
  device: GpuDevice,
  options: GreenContextLadderOptions,
): GreenContextLadder {
  cuda.call('cuDevicePrimaryCtxRetain', cuda.out.pointer, device.handle)
  const primary = cuda.out.u64[0] as bigint
  const temporary: { free(): void }[] = []
  let cut: CutLadder | undefined
  try {
    const input = allocateResources(1)
    temporary.push(input.buffer)
    const { numSms: totalSms, minSms } = queryDeviceSms(cuda, device, input)
    const { description } = options
    const wanted = options.levels ?? []
    if (description === undefined) checkWantedSms(wanted, totalSms)
    const aggressiveSms = options.aggressiveSms ?? totalSms
    checkAggressiveSms(aggressiveSms, totalSms)
    const { split, minCount } = splitDevice(cuda, input, totalSms, description?.minCount ?? minSms)
    temporary.push(split)
    const groupSms = readCounts(split.groups.buffer.u32, 0).numSms
    const shape = { totalSms, groupSms, numGroups: split.numGroups }
    const isDryRun = options.dryRun === true
    const priority = options.priority ?? 0
    const sides = isDryRun ? [] : (options.sides ?? (['shared', 'downstream'] as const))
    const material: RowMaterial = {
      cuda,
      device,
      priority,
      totalSms,
      input,
      split,
      groupSms,
      sides,
    }
    cut =
      description === undefined
        ? cutWanted(material, shape, wanted, aggressiveSms)
        : cutDescribed(material, shape, description)
    const streams = isDryRun ? NO_STREAMS : createStreams(cuda, primary, priority)
    return assemble({ cuda, device, primary, streams, isDryRun, shape, minCount, cut })
  } catch (error) {
    if (cut !== undefined) closeCut(cut)
    cuda.raw('cuDevicePrimaryCtxRelease_v2')(device.handle)
    throw error
  } finally {
    for (const memory of temporary) memory.free()
  }
}

const NO_STREAMS: Readonly<Record<Side, bigint>> = { shared: 0n, downstream: 0n }

function createStreams(cuda: CudaLibrary, primary: bigint, priority: number): Parts['streams'] {
  const shared = createStreamIn(cuda, primary, priority)
  try {
    return { shared, downstream: createStreamIn(cuda, primary, priority) }
  } catch (error) {
    cuda.raw('cuStreamDestroy_v2')(shared)
    throw error
  }
}

interface Parts {
  readonly cuda: CudaLibrary
  readonly device: GpuDevice
  readonly primary: bigint
  /** In the primary context; two, so that both stages may run on the whole device at once. */
  readonly streams: Readonly<Record<Side, bigint>>
  readonly isDryRun: boolean
  readonly shape: SplitShape
  readonly minCount: number
  readonly cut: CutLadder
}

function assemble(parts: Parts): GreenContextLadder {
  const { cuda, device, cut, shape, primary } = parts
  const { totalSms } = shape
  const whole: DescribedRow = { method: 'whole', groups: 0, sharedSms: totalSms, downstreamSms: 0 }
  const aggressive = cut.aggressive ?? { ...whole, contexts: {} }
  const cuts = [...cut.levels, aggressive, { ...whole, contexts: {} }]
  const aggressiveIndex = cut.levels.length
  const rows = cuts.map(({ contexts: _, ...row }, index): LadderRow => {
    const kind =
      index < aggressiveIndex ? 'co-running' : index === aggressiveIndex ? 'aggressive' : 'off'
    return { index, kind, ...row }
  })
  let closed = false
  const pick = (index: number, side: Side): { context: bigint; stream: bigint } => {
    if (closed) throw closedError()
    const row = cuts[index]
    if (row === undefined) throw levelError(index, rows.length)
    if (row.method === 'whole' && !parts.isDryRun)
      return { context: primary, stream: parts.streams[side] }
    const context = row.contexts[side]
    if (context === undefined) throw notCreated(side, parts.isDryRun)
    return context
  }
  return {
    device,
    totalSms,
    isDryRun: parts.isDryRun,
    rows,
    aggressiveIndex,
    offIndex: aggressiveIndex + 1,
    dropped: cut.dropped,
    context: (index, side) => pick(index, side).context,
    stream: (index, side) => pick(index, side).stream,
    isClosed: () => closed,
    describe: () => ({
      format: 1,
      totalSms,
      minCount: parts.minCount,
      groupSms: shape.groupSms,
      numGroups: shape.numGroups,
      levels: rows.slice(0, aggressiveIndex).map(plain),
      aggressive: plain(rows[aggressiveIndex] as LadderRow),
    }),
    close() {
      if (closed) return
      closed = true
      // A context must not be current to any thread when it is destroyed.
      if (!parts.isDryRun) {
        cuda.raw('cuCtxSetCurrent')(primary)
        cuda.raw('cuStreamDestroy_v2')(parts.streams.shared)
        cuda.raw('cuStreamDestroy_v2')(parts.streams.downstream)
      }
      closeCut(cut)
      cuda.raw('cuDevicePrimaryCtxRelease_v2')(device.handle)
    },
  }
}

function closeCut(cut: CutLadder): void {
  for (const row of cut.levels) closeRow(row)
  if (cut.aggressive !== undefined) closeRow(cut.aggressive)
}

function plain({ method, groups, sharedSms, downstreamSms }: DescribedRow): DescribedRow {
  return { method, groups, sharedSms, downstreamSms }
}

/** The error of anything used after its ladder's `close()`. */
export function closedError(): HorizonError {
  return new HorizonError(
    'ERR_GPU_LADDER_CLOSED',
    'the ladder is closed and its contexts are destroyed',
    {
      hint: 'Build a new ladder; `close()` belongs after the last step',
    },
  )
}

/** The error of a row that is not there. */
export function levelError(index: number, numRows: number): HorizonError {
  return new HorizonError('ERR_GPU_LEVELS', 'no such row', {
    field: 'level',
    expected: `an index from 0 to ${numRows - 1}`,
    got: index,
  })
}

function notCreated(side: Side, isDryRun: boolean): HorizonError {
  return isDryRun
    ? new HorizonError('ERR_GPU_DRY_RUN', 'a dry run has rows but no contexts', {
        hint: 'Build the ladder without `dryRun`',
      })
    : new HorizonError('ERR_GPU_SIDE', `the ladder has no contexts for the ${side} side`, {
        hint: 'Name the side in `sides` when building the ladder',
      })
}
