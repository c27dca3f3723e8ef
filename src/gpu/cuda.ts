/**
 * @module
 * The CUDA driver library: opened by path, its functions probed one by one, every call checked.
 *
 * All state that the driver keeps per thread (the current context) is the state of the JavaScript thread that calls: only
 * synchronous calls are made, because asynchronous ones run on threads of a pool.
 */
import { HorizonError } from '../core/errors.js'
import type { CArguments, CFunction } from '../native/c-prototype.js'
import { loadKoffi, type NativeFunction } from '../native/koffi.js'
import { tryOpenLibrary } from '../native/library.js'
import { allocateNative, type NativeBuffer } from '../native/native-buffer.js'
import { CU_RESULT } from './abi.js'
import {
  CUDA_BASE,
  CUDA_GREEN,
  CUDA_LATER,
  type CudaPrototypes,
  type CudaSymbol,
} from './cuda-symbols.js'
import { cudaError } from './result.js'

/** Where to look for the driver. */
export interface CudaOptions {
  /** A path or a name for the loader. @default HORIZON_LIBCUDA, else `libcuda.so.1` */
  readonly libraryPath?: string
}

/** An open driver library. One per path and thread; it is never unloaded. */
export interface CudaLibrary {
  readonly path: string
  /** `1000 major + 10 minor` of the CUDA version the driver speaks; 0 from a driver without its kernel module. */
  readonly version: number
  /** Functions that this driver lacks, in the order of the tables. */
  readonly missing: readonly CudaSymbol[]
  has(symbol: CudaSymbol): boolean
  /** The bare function, for the hot path. @throws `ERR_GPU_GREEN_CONTEXT_UNAVAILABLE` where the driver lacks it */
  raw<S extends CudaSymbol>(symbol: S): CFunction<CudaPrototypes[S]>
  /** Calls and checks. */
  call<S extends CudaSymbol>(symbol: S, ...args: CArguments<CudaPrototypes[S]>): void
  /** Throws the error that belongs to a result other than success. */
  check(symbol: string, result: number): void
  /** The driver's own name for a result, e.g. `CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected`. */
  describeResult(result: number): string
  /** Memory for out-parameters, valid until the next call. */
  readonly out: NativeBuffer
}

const PROTOTYPES: Readonly<Record<CudaSymbol, string>> = {
  ...CUDA_BASE,
  ...CUDA_GREEN,
  ...CUDA_LATER,
}
const SYMBOLS = Object.keys(PROTOTYPES) as CudaSymbol[]

const open = new Map<string, CudaLibrary>()

/**
 * Opens the driver library. Does not initialise it: see `initCuda`.
 * @throws `ERR_GPU_DRIVER_UNAVAILABLE` when it does not load, `ERR_GPU_LIBRARY_FOREIGN` when it is no CUDA driver
 */
export function openCuda(options: CudaOptions = {}): CudaLibrary {
  const path = options.libraryPath ?? (process.env.HORIZON_LIBCUDA || 'libcuda.so.1')
  const known = open.get(path)
  if (known !== undefined) return known
  const { library, missing } = tryOpenLibrary([path])
  if (library === undefined) {
    throw new HorizonError(
      'ERR_GPU_DRIVER_UNAVAILABLE',
      `the CUDA driver library ${path} does not load: ${missing[0]?.reason}`,
      {
        hint: 'Install the NVIDIA driver, or name its library in HORIZON_LIBCUDA; everything but the GPU commands works without',
      },
    )
  }
  const functions = new Map<CudaSymbol, NativeFunction>()
  for (const symbol of SYMBOLS) {
    const fn = library.probe(PROTOTYPES[symbol])
    if (fn !== undefined) functions.set(symbol, fn)
  }
  const absent = Object.keys(CUDA_BASE).find((symbol) => !functions.has(symbol as CudaSymbol))
  if (absent !== undefined) {
    throw new HorizonError(
      'ERR_GPU_LIBRARY_FOREIGN',
      `${path} loads but has no function ${absent}, which every CUDA driver since 11.4 has`,
      { hint: 'Name the libcuda.so.1 of the NVIDIA driver in HORIZON_LIBCUDA' },
    )
  }
  const cuda = wrap(path, functions)
  open.set(path, cuda)
  return cuda
}

/** Initialises the driver in this process; repeating it is free. @throws `ERR_GPU_DEVICE_UNAVAILABLE` with no GPU */
export function initCuda(cuda: CudaLibrary): void {
  cuda.call('cuInit', 0)
}

function wrap(path: string, functions: ReadonlyMap<CudaSymbol, NativeFunction>): CudaLibrary {
  const out = allocateNative(256)
  const raw = <S extends CudaSymbol>(symbol: S): CFunction<CudaPrototypes[S]> => {
    const fn = functions.get(symbol)
    if (fn !== undefined) return fn as CFunction<CudaPrototypes[S]>
    throw new HorizonError(
      'ERR_GPU_GREEN_CONTEXT_UNAVAILABLE',
      `the driver behind ${path} has no ${symbol}`,
      { hint: 'Green Contexts need driver 550 or newer: use the MPS or the `none` actuator' },
    )
  }
  const describeResult = (result: number): string => {
    const name = textBehind(raw('cuGetErrorName'), result, out)
    const text = textBehind(raw('cuGetErrorString'), result, out)
    return name === undefined ? 'unknown to the driver' : `${name}: ${text ?? ''}`
  }
  const check = (symbol: string, result: number): void => {
    if (result !== CU_RESULT.CUDA_SUCCESS) throw cudaError(symbol, result, describeResult(result))
  }
  raw('cuDriverGetVersion')(out.pointer)
  return {
    path,
    version: out.i32[0] as number,
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

function textBehind(fn: NativeFunction, result: number, out: NativeBuffer): string | undefined {
  out.u64[0] = 0n
  if (fn(result, out.pointer) !== CU_RESULT.CUDA_SUCCESS) return
  const pointer = out.u64[0]
  return pointer === 0n ? undefined : loadKoffi().decode.string(pointer)
}
