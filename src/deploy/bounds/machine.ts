/**
 * @module
 * The GPUs a pipeline may use: kinds, memory, hosts and links. Presets give memory and link speed from data sheets;
 * everything can be declared instead.
 */
import { HorizonError } from '../../core/errors.js'

export interface Gpu {
  /** Name under which nodes give their times, for example `b200`. */
  readonly hardware: string
  readonly memoryGiB: number
  readonly host: number
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
export const HARDWARE: Readonly<Record<string, { memoryGiB: number; gibPerSecond: number }>> =
  Object.freeze({
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
  /** Overrides the preset. @default the preset, or unlimited for hardware without one */
  readonly memoryGiB?: number
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
  const kinds = parseKinds(options.hardware ?? 'any', options.gpus)
  const gpus = kinds.map(
    (hardware, index): Gpu => ({
      hardware,
      memoryGiB: options.memoryGiB ?? HARDWARE[hardware]?.memoryGiB ?? Number.POSITIVE_INFINITY,
      host: Math.floor(index / perHost),
    }),
  )
  const slowest = Math.min(...kinds.map((kind) => HARDWARE[kind]?.gibPerSecond ?? 100))
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
