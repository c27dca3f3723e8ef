/**
 * @module
 * The GPUs a pipeline may use: kinds, memory, hosts and links. Presets give memory and link speed from data sheets;
 * everything can be declared instead.
 */
import { HorizonError } from '../../core/errors.js'

export interface Gpu {
  /** Name under which nodes give their times, for example `b200`. */
  readonly hardware: string
  /** What stages may take, in GiB: all of it, or what the host leaves where host and GPU share one memory. */
  readonly memoryGiB: number
  /** What the engine's fractions are fractions of, in GiB; `memoryGiB` when absent. */
  readonly totalGiB?: number
  readonly host: number
}

/** What is known of a kind of GPU: see `HARDWARE`, or `readHardware` for one's own. */
export interface HardwareKind {
  readonly memoryGiB: number
  /** To another GPU of the same host, each way. */
  readonly gibPerSecond: number
  /** GiB that the host needs of a memory that both share; absent where the GPU has a memory of its own. */
  readonly hostGiB?: number
}

/** Cost of handing a payload to another group: latency plus bytes over bandwidth. */
export interface Link {
  readonly latencyMs: number
  readonly gibPerSecond: number
}

export interface Machine {
  readonly gpus: readonly Gpu[]
  readonly links: { readonly intraHost: Link; readonly interHost: Link }
}

/**
 * Memory in GiB and per-direction GPU-to-GPU bandwidth of one GPU, from the vendors' data sheets (decimal gigabytes
 * there). Latencies are assumptions of ours for one hand-over between processes, not measurements.
 */
export const HARDWARE: Readonly<Record<string, HardwareKind>> = Object.freeze({
  a100: { memoryGiB: 74.5, gibPerSecond: 279 },
  h100: { memoryGiB: 74.5, gibPerSecond: 419 },
  h200: { memoryGiB: 131, gibPerSecond: 419 },
  b200: { memoryGiB: 167, gibPerSecond: 838 },
  mi355x: { memoryGiB: 268, gibPerSecond: 500 },
  rtxpro6000: { memoryGiB: 89, gibPerSecond: 59 },
})

export const DEFAULT_INTRA_LATENCY_MS = 0.05
export const DEFAULT_INTER_HOST: Link = Object.freeze({ latencyMs: 0.1, gibPerSecond: 46 })

export interface MachineOptions {
  readonly gpus: number
  /** `b200`, or several kinds as `b200:4,h100:4`. @default 'any': times given for any hardware */
  readonly hardware?: string
  /** Overrides the preset. @default the preset; unlimited for 'any' */
  readonly memoryGiB?: number
  /** Kinds beside the presets, or instead of them: what `readHardware` gives. */
  readonly kinds?: Readonly<Record<string, HardwareKind>>
  /** GPUs per host. @default 8 */
  readonly gpusPerHost?: number
  readonly intraHost?: Link
  readonly interHost?: Link
}

/** @example machine({ gpus: 8, hardware: 'b200' }) */
export function machine(options: MachineOptions): Machine {
  if (!Number.isInteger(options.gpus) || options.gpus < 1 || options.gpus > 1024)
    throw new HorizonError('ERR_DEPLOY_BUDGET', 'the GPU budget is wrong', {
      field: 'gpus',
      expected: 'a whole number from 1 to 1024',
      got: options.gpus,
    })
  const perHost = options.gpusPerHost ?? 8
  if (!Number.isInteger(perHost) || perHost < 1)
    throw new HorizonError('ERR_DEPLOY_BUDGET', 'the host size is wrong', {
      field: 'gpusPerHost',
      expected: 'a whole number of at least 1',
      got: perHost,
    })
  const known = { ...HARDWARE, ...options.kinds }
  const kinds = parseKinds(options.hardware ?? 'any', options.gpus)
  for (const kind of new Set(kinds))
    if (!Object.hasOwn(known, kind) && kind !== 'any' && options.memoryGiB === undefined)
      throw unknownKind(kind, Object.keys(known))
  const gpus = kinds.map((hardware, index): Gpu => {
    const kind = Object.hasOwn(known, hardware) ? known[hardware] : undefined
    const totalGiB = options.memoryGiB ?? kind?.memoryGiB ?? Number.POSITIVE_INFINITY
    const shared = kind?.hostGiB ?? 0
    if (shared >= totalGiB)
      throw new HorizonError('ERR_DEPLOY_HARDWARE', `the host leaves nothing of ${hardware}`, {
        field: `${hardware}.hostGiB`,
        expected: `less than the memory of ${totalGiB} GiB`,
        got: shared,
      })
    return {
      hardware,
      memoryGiB: totalGiB - shared,
      ...(shared > 0 && { totalGiB }),
      host: Math.floor(index / perHost),
    }
  })
  const slowest = Math.min(...kinds.map((kind) => known[kind]?.gibPerSecond ?? 100))
  return {
    gpus,
    links: {
      intraHost: options.intraHost ?? {
        latencyMs: DEFAULT_INTRA_LATENCY_MS,
        gibPerSecond: slowest,
      },
      interHost: options.interHost ?? DEFAULT_INTER_HOST,
    },
  }
}

/** Nothing is known of a kind: neither its memory nor its links, so nothing can be promised about it. */
function unknownKind(kind: string, known: readonly string[]): HorizonError {
  const away = (name: string): number => distance(name, kind.toLowerCase())
  const [nearest] = [...known].sort((a, b) => away(a) - away(b))
  const near = nearest !== undefined && away(nearest) <= 2 ? nearest : undefined
  return new HorizonError('ERR_DEPLOY_HARDWARE', `hardware '${kind}' is unknown`, {
    field: 'hardware',
    expected: `one of ${known.join(', ')}, or 'any'`,
    got: kind,
    hint: `${near === undefined ? '' : `Did you mean '${near}'? `}Give its memory with --memory, or describe it in a file for --hardware-file: '${kind}: { memoryGiB: 96, gibPerSecond: 400 }'`,
  })
}

/** Letters to change, add or leave out. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1)
      next.push(
        Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)),
      )
    row = next
  }
  return row[b.length]!
}

function parseKinds(text: string, count: number): string[] {
  const kinds = text.split(',').flatMap((part) => {
    const [name, number] = part.split(':')
    const times = number === undefined ? undefined : Number(number)
    if (!name || (times !== undefined && !(Number.isInteger(times) && times > 0)))
      throw new HorizonError('ERR_DEPLOY_HARDWARE', 'the hardware is not understood', {
        field: 'hardware',
        expected: "a name such as 'b200', or counts such as 'b200:4,h100:4'",
        got: text,
      })
    return new Array<string>(times ?? (text.includes(',') ? 1 : count)).fill(name.trim())
  })
  if (kinds.length !== count)
    throw new HorizonError('ERR_DEPLOY_HARDWARE', 'the hardware does not add up to the budget', {
      field: 'hardware',
      expected: `${count} GPUs`,
      got: text,
    })
  return kinds
}

/** The same machine with more GPUs of its last kind, on further hosts of the same size when the last one is full. */
export function withGpus(base: Machine, count: number): Machine {
  const last = base.gpus.at(-1)!
  const perHost = Math.max(8, ...base.gpus.map((gpu) => sizeOf(base, gpu.host)))
  const gpus = [...base.gpus]
  while (gpus.length < count) {
    const host = gpus.at(-1)!.host
    const full = gpus.filter((gpu) => gpu.host === host).length >= perHost
    gpus.push({ ...last, host: full ? host + 1 : host })
  }
  return { ...base, gpus }
}

function sizeOf(base: Machine, host: number): number {
  return base.gpus.filter((gpu) => gpu.host === host).length
}

/** GPUs of a kind on the host that has most of them. */
export function widestHost(machine: Machine, hardware: string): number {
  const sizes = new Map<number, number>()
  for (const gpu of machine.gpus)
    if (gpu.hardware === hardware) sizes.set(gpu.host, (sizes.get(gpu.host) ?? 0) + 1)
  return Math.max(0, ...sizes.values())
}
