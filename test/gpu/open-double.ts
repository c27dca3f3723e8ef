/**
 * @module
 * Opens a double through the same code that opens the real libraries, in a stated configuration.
 */
import { type CudaLibrary, initCuda, openCuda } from '../../src/gpu/cuda.js'
import { type GpuDevice, openDevice } from '../../src/gpu/device.js'
import { tryOpenLibrary } from '../../src/native/library.js'
import { cudaDouble } from '../abi/double/build.js'

/** Objects alive inside the double. */
export interface Live {
  readonly greenContexts: number
  readonly primaryRetains: number
  readonly streams: number
  readonly events: number
  readonly allocations: number
}

/** The CUDA double of a version, configured anew: everything made before is gone. */
export function openCudaDouble(
  spec = '',
  version = 12080,
): { readonly cuda: CudaLibrary; configure(spec: string): void; live(): Live } {
  const path = cudaDouble(version)
  const { library } = tryOpenLibrary([path])
  if (library === undefined) throw new Error(`the double does not load: ${path}`)
  const set = library.bind('void horizon_double_configure(const char *spec)')
  const count = library.bind('void horizon_double_live(void *out)')
  set(spec)
  return {
    cuda: openCuda({ libraryPath: path }),
    configure: (text) => set(text),
    live() {
      const out = new Int32Array(5)
      count(out)
      const [greenContexts = 0, primaryRetains = 0, streams = 0, events = 0, allocations = 0] = out
      return { greenContexts, primaryRetains, streams, events, allocations }
    },
  }
}

/** The double, initialised, and its first device. */
export function openDoubleDevice(
  spec = '',
  version = 12080,
): ReturnType<typeof openCudaDouble> & { readonly device: GpuDevice } {
  const double = openCudaDouble(spec, version)
  initCuda(double.cuda)
  return { ...double, device: openDevice(double.cuda) }
}

/** Nothing left alive. */
export const NOTHING: Live = {
  greenContexts: 0,
  primaryRetains: 0,
  streams: 0,
  events: 0,
  allocations: 0,
}

/** What a function throws, or an error if it does not. */
export function thrown(run: () => unknown): Error & { code?: string } {
  try {
    run()
  } catch (error) {
    return error as Error & { code?: string }
  }
  throw new Error('expected an error')
}
