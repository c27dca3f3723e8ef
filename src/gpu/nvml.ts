/**
 * @module
 * The NVIDIA Management Library: opened by path, its functions probed, every call checked. It needs no CUDA context and
 * ignores CUDA_VISIBLE_DEVICES, so a device is found by the UUID that the CUDA driver reports, not by its index.
 */
import { HorizonError } from '../core/errors.js'
import type { CArguments, CFunction } from '../native/c-prototype.js'
import { loadKoffi, type NativeFunction } from '../native/koffi.js'
import { tryOpenLibrary } from '../native/library.js'
import { allocateNative, type NativeBuffer } from '../native/native-buffer.js'
import { NVML_MEMORY, NVML_RETURN, NVML_TEXT_BYTES } from './abi.js'
import {
  NVML_BASE,
  NVML_GPM,
  NVML_MIG,
  type NvmlPrototypes,
  type NvmlSymbol,
} from './nvml-symbols.js'
import { nvmlError } from './result.js'

/** Where to look for NVML. */
export interface NvmlOptions {
  /** A path or a name for the loader. @default HORIZON_LIBNVML, else `libnvidia-ml.so.1` */
  readonly libraryPath?: string
}

/** An open NVML. One per path and thread; never unloaded. */
export interface NvmlLibrary {
  readonly path: string
  readonly missing: readonly NvmlSymbol[]
  has(symbol: NvmlSymbol): boolean
  /** The bare function, for the hot path. @throws `ERR_GPU_METRIC_UNAVAILABLE` where this NVML lacks it */
  raw<S extends NvmlSymbol>(symbol: S): CFunction<NvmlPrototypes[S]>
  call<S extends NvmlSymbol>(symbol: S, ...args: CArguments<NvmlPrototypes[S]>): void
  check(symbol: string, result: number): void
  describeResult(result: number): string
  /** Memory for out-parameters, valid until the next call. */
  readonly out: NativeBuffer
}

const PROTOTYPES: Readonly<Record<NvmlSymbol, string>> = {
  ...NVML_BASE,
  ...NVML_GPM,
  ...NVML_MIG,
}
const SYMBOLS = Object.keys(PROTOTYPES) as NvmlSymbol[]

const open = new Map<string, NvmlLibrary>()

/**
 * Opens NVML. Does not initialise it: see `initNvml`.
 * @throws `ERR_GPU_NVML_UNAVAILABLE` when it does not load, `ERR_GPU_LIBRARY_FOREIGN` when it is something else
 */
export function openNvml(options: NvmlOptions = {}): NvmlLibrary {
  const path = options.libraryPath ?? (process.env.HORIZON_LIBNVML || 'libnvidia-ml.so.1')
  const known = open.get(path)
  if (known !== undefined) return known
  const { library, missing } = tryOpenLibrary([path])
  if (library === undefined) {
    throw new HorizonError(
      'ERR_GPU_NVML_UNAVAILABLE',
      `NVML (${path}) does not load: ${missing[0]?.reason}`,
      {
        hint: 'Install the NVIDIA driver, or name its library in HORIZON_LIBNVML; without it pressure is unknown',
      },
    )
  }
  const functions = new Map<NvmlSymbol, NativeFunction>()
  for (const symbol of SYMBOLS) {
    const fn = library.probe(PROTOTYPES[symbol])
    if (fn !== undefined) functions.set(symbol, fn)
  }
  const absent = Object.keys(NVML_BASE).find((symbol) => !functions.has(symbol as NvmlSymbol))
  if (absent !== undefined) {
    throw new HorizonError(
      'ERR_GPU_LIBRARY_FOREIGN',
      `${path} loads but has no function ${absent}, which every NVML in use has`,
      { hint: 'Name the libnvidia-ml.so.1 of the NVIDIA driver in HORIZON_LIBNVML' },
    )
  }
  const nvml = wrap(path, functions)
  open.set(path, nvml)
  return nvml
}

function wrap(path: string, functions: ReadonlyMap<NvmlSymbol, NativeFunction>): NvmlLibrary {
  const out = allocateNative(256)
  const raw = <S extends NvmlSymbol>(symbol: S): CFunction<NvmlPrototypes[S]> => {
    const fn = functions.get(symbol)
    if (fn !== undefined) return fn as CFunction<NvmlPrototypes[S]>
    throw new HorizonError('ERR_GPU_METRIC_UNAVAILABLE', `the NVML at ${path} has no ${symbol}`, {
      hint: 'The driver is too old for this metric: use another pressure source',
    })
  }
  const describeResult = (result: number): string => {
    const pointer = raw('nvmlErrorString')(result)
    return pointer === 0n ? 'unknown to NVML' : loadKoffi().decode.string(pointer)
  }
  const check = (symbol: string, result: number): void => {
    if (result !== NVML_RETURN.NVML_SUCCESS) throw nvmlError(symbol, result, describeResult(result))
  }
  return {
    path,
    missing: SYMBOLS.filter((symbol) => !functions.has(symbol)),
    has: (symbol) => functions.has(symbol),
    raw,
    check,
    call(symbol, ...args) {
      check(symbol, raw(symbol)(...args) as number)
    },
    describeResult,
    out,
  }
}

/** Starts NVML in this process; counted by the library, so repeating it is safe. @throws `ERR_GPU_NVML_UNAVAILABLE` with no driver */
export function initNvml(nvml: NvmlLibrary): void {
  nvml.call('nvmlInit_v2')
}

/** Version of the kernel driver, e.g. `590.48.01`. */
export function readDriverVersion(nvml: NvmlLibrary): string {
  nvml.call('nvmlSystemGetDriverVersion', nvml.out.pointer, NVML_TEXT_BYTES)
  return nvml.out.text(0, NVML_TEXT_BYTES)
}

/** GPUs that NVML sees, whatever CUDA_VISIBLE_DEVICES says. */
export function countNvmlDevices(nvml: NvmlLibrary): number {
  nvml.call('nvmlDeviceGetCount_v2', nvml.out.pointer)
  return nvml.out.u32[0] as number
}

/** @throws `ERR_GPU_DEVICE_INDEX` */
export function nvmlDeviceByIndex(nvml: NvmlLibrary, index: number): bigint {
  const count = countNvmlDevices(nvml)
  if (!Number.isInteger(index) || index < 0 || index >= count) {
    throw new HorizonError('ERR_GPU_DEVICE_INDEX', 'no such GPU', {
      field: 'device',
      expected: `an integer from 0 to ${count - 1}`,
      got: index,
      hint: 'List the devices with `horizonserve doctor`',
    })
  }
  nvml.call('nvmlDeviceGetHandleByIndex_v2', index, nvml.out.pointer)
  return nvml.out.u64[0] as bigint
}

/** By `GPU-…`, as `openDevice` reports it. @throws `ERR_GPU_DEVICE_INDEX` when NVML sees no such GPU */
export function nvmlDeviceByUuid(nvml: NvmlLibrary, uuid: string): bigint {
  nvml.call('nvmlDeviceGetHandleByUUID', Buffer.from(`${uuid}\0`), nvml.out.pointer)
  return nvml.out.u64[0] as bigint
}

/** By PCI id, `00000000:01:00.0`. @throws `ERR_GPU_DEVICE_INDEX` */
export function nvmlDeviceByPciId(nvml: NvmlLibrary, id: string): bigint {
  nvml.call('nvmlDeviceGetHandleByPciBusId_v2', Buffer.from(`${id}\0`), nvml.out.pointer)
  return nvml.out.u64[0] as bigint
}

/** `GPU-…` of a device. */
export function readNvmlUuid(nvml: NvmlLibrary, device: bigint): string {
  nvml.call('nvmlDeviceGetUUID', device, nvml.out.pointer, NVML_TEXT_BYTES)
  return nvml.out.text(0, NVML_TEXT_BYTES)
}

/** Product name of a device. */
export function readNvmlName(nvml: NvmlLibrary, device: bigint): string {
  nvml.call('nvmlDeviceGetName', device, nvml.out.pointer, NVML_TEXT_BYTES)
  return nvml.out.text(0, NVML_TEXT_BYTES)
}

/** True for a GPU that reports no memory of its own: it shares the host's, and its memory activity reads 0 whatever it does. */
export function sharesHostMemory(nvml: NvmlLibrary, device: bigint): boolean {
  const result = nvml.raw('nvmlDeviceGetMemoryInfo')(device, nvml.out.pointer)
  return result === NVML_RETURN.NVML_ERROR_NOT_SUPPORTED
}

/** Device memory in bytes. */
export function readNvmlMemory(
  nvml: NvmlLibrary,
  device: bigint,
): { readonly totalBytes: number; readonly freeBytes: number; readonly usedBytes: number } {
  nvml.call('nvmlDeviceGetMemoryInfo', device, nvml.out.pointer)
  const { total, free, used } = NVML_MEMORY.fields
  const at = (offset: number): number => Number(nvml.out.u64[offset / 8])
  return { totalBytes: at(total.offset), freeBytes: at(free.offset), usedBytes: at(used.offset) }
}
