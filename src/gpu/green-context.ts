/**
 * @module
 * One Green Context with its stream: created from a descriptor, its SM count read back, destroyed in the order the
 * driver asks for. A context is current to one thread at a time and cannot leave its process.
 */
import { CU } from './abi.js'
import type { CudaLibrary } from './cuda.js'
import type { GpuDevice } from './device.js'
import { allocateResources, readCounts } from './sm-resource.js'

/** What kernels are launched with. */
export interface GreenContext {
  /** `CUcontext`, to make current. */
  readonly context: bigint
  /** `CUstream` of that context. */
  readonly stream: bigint
  /** As the driver reports it, not as it was asked for. */
  readonly numSms: number
  /** Stream first, then context. The context must not be current to any thread. Idempotent. */
  close(): void
}

/** Creates the context of a descriptor and a non-blocking stream in it. Nothing is left behind when a call fails. */
export function createGreenContext(
  cuda: CudaLibrary,
  device: GpuDevice,
  descriptor: bigint,
  priority = 0,
): GreenContext {
  cuda.call(
    'cuGreenCtxCreate',
    cuda.out.pointer,
    descriptor,
    device.handle,
    CU.CU_GREEN_CTX_DEFAULT_STREAM,
  )
  const green = cuda.out.u64[0] as bigint
  try {
    cuda.call('cuCtxFromGreenCtx', cuda.out.pointer, green)
    const context = cuda.out.u64[0] as bigint
    const numSms = readBackSms(cuda, green)
    const stream = createStream(cuda, green, context, priority)
    let isClosed = false
    return {
      context,
      stream,
      numSms,
      close() {
        if (isClosed) return
        isClosed = true
        // Results are not checked: after a sticky error every call fails, and closing must still be possible.
        cuda.raw('cuStreamDestroy_v2')(stream)
        cuda.raw('cuGreenCtxDestroy')(green)
      },
    }
  } catch (error) {
    cuda.raw('cuGreenCtxDestroy')(green)
    throw error
  }
}

/** SMs that a Green Context really has. */
function readBackSms(cuda: CudaLibrary, green: bigint): number {
  const resource = allocateResources(1)
  try {
    cuda.call('cuGreenCtxGetDevResource', green, resource.pointer(0), CU.CU_DEV_RESOURCE_TYPE_SM)
    return readCounts(resource.buffer.u32, 0).numSms
  } finally {
    resource.buffer.free()
  }
}

/** `cuGreenCtxStreamCreate` came with 12.5; on 12.4 a stream made while the context is current belongs to it. */
function createStream(cuda: CudaLibrary, green: bigint, context: bigint, priority: number): bigint {
  if (cuda.has('cuGreenCtxStreamCreate')) {
    cuda.call(
      'cuGreenCtxStreamCreate',
      cuda.out.pointer,
      green,
      CU.CU_STREAM_NON_BLOCKING,
      priority,
    )
    return cuda.out.u64[0] as bigint
  }
  return createStreamIn(cuda, context, priority)
}

/** A non-blocking stream in a context of any kind, leaving the current context as it was. */
export function createStreamIn(cuda: CudaLibrary, context: bigint, priority = 0): bigint {
  cuda.call('cuCtxPushCurrent_v2', context)
  try {
    cuda.call('cuStreamCreateWithPriority', cuda.out.pointer, CU.CU_STREAM_NON_BLOCKING, priority)
    return cuda.out.u64[0] as bigint
  } finally {
    cuda.raw('cuCtxPopCurrent_v2')(cuda.out.pointer + 64n)
  }
}
