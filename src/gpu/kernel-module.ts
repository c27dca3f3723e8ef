/**
 * @module
 * Kernels loaded from PTX. As a library (CUDA 12.0) they belong to no context and run in whichever a stream is of; that is what a
 * ladder of contexts needs. Older drivers load a module into the current context instead.
 */

import { HorizonError } from '../core/errors.js'
import { allocateNative } from '../native/native-buffer.js'
import type { CudaLibrary } from './cuda.js'

/** Loaded kernels by name. */
export interface KernelModule {
  /** `CUfunction` (or a `CUkernel`, which stands for one). @throws the driver's NOT_FOUND for a name that is not there */
  kernel(name: string): bigint
  close(): void
}

/** Has the driver compile and load the PTX. @throws `ERR_GPU_PTX` when it cannot */
export function loadKernels(cuda: CudaLibrary, ptx: string): KernelModule {
  const image = Buffer.from(`${ptx}\0`)
  const isLibrary = cuda.has('cuLibraryLoadData')
  if (isLibrary)
    cuda.call('cuLibraryLoadData', cuda.out.pointer, image, null, null, 0, null, null, 0)
  else cuda.call('cuModuleLoadData', cuda.out.pointer, image)
  const handle = cuda.out.u64[0] as bigint
  const find = isLibrary ? 'cuLibraryGetKernel' : 'cuModuleGetFunction'
  let isClosed = false
  return {
    kernel(name) {
      cuda.call(find, cuda.out.pointer, handle, Buffer.from(`${name}\0`))
      return cuda.out.u64[0] as bigint
    },
    close() {
      if (isClosed) return
      isClosed = true
      cuda.raw(isLibrary ? 'cuLibraryUnload' : 'cuModuleUnload')(handle)
    },
  }
}

/** One argument of a kernel, by its C type. */
export type KernelArgument =
  | { readonly type: 'pointer' | 'u64'; readonly value: bigint }
  | { readonly type: 'u32'; readonly value: number }

/** A kernel with its grid and arguments, ready to launch again and again. */
export interface Launch {
  /** Enqueues once on a stream; the stream's context must be current. */
  enqueue(stream: bigint): void
  free(): void
}

/** Lays arguments out as `cuLaunchKernel` reads them: a table of addresses, then the values, 8 bytes each. */
export function prepareLaunch(
  cuda: CudaLibrary,
  kernel: bigint,
  grid: number,
  block: number,
  args: readonly KernelArgument[],
): Launch {
  const memory = allocateNative(args.length * 16)
  args.forEach((argument, i) => {
    const at = args.length + i
    memory.u64[i] = memory.pointer + BigInt(at * 8)
    memory.u64[at] = BigInt(argument.value)
  })
  const launch = cuda.raw('cuLaunchKernel')
  let isFree = false
  return {
    enqueue(stream) {
      // The driver would read freed memory: better an error than a crash.
      if (isFree) throw closedStageError()
      const result = launch(kernel, grid, 1, 1, block, 1, 1, 0, stream, memory.pointer, null)
      if (result !== 0) cuda.check('cuLaunchKernel', result)
    },
    free() {
      isFree = true
      memory.free()
    },
  }
}

/** The error of anything launched or timed after its `close()`. */
export function closedStageError(): HorizonError {
  return new HorizonError(
    'ERR_GPU_STAGE_CLOSED',
    'the stage or timer is closed and its memory given back',
    {
      hint: 'Close stages and timers after the last step',
    },
  )
}
