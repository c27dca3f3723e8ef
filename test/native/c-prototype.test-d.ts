/** Compiled by `tsc`, never run: what must and must not compile. */

import type { CudaLibrary } from '../../src/gpu/cuda.js'
import type { CArguments, CFunction } from '../../src/native/c-prototype.js'

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const yes = <T extends true>(): T | undefined => undefined

yes<Equal<CArguments<'int f()'>, []>>()
yes<Equal<CArguments<'int f(int device, uint32_t flags)'>, [number, number]>>()
yes<
  Equal<CArguments<'int f(uint64_t address, size_t bytes)'>, [bigint | number, bigint | number]>
>()
yes<Equal<ReturnType<CFunction<'void *f(int result)'>>, bigint>>()
yes<Equal<ReturnType<CFunction<'int f(void *p)'>>, number>>()

export function mistakes(cuda: CudaLibrary): void {
  cuda.call('cuInit', 0)
  // @ts-expect-error an argument is missing
  cuda.call('cuDeviceGet', cuda.out.pointer)
  // @ts-expect-error a pointer is not a number
  cuda.call('cuCtxSetCurrent', 5)
  // @ts-expect-error no such function
  cuda.call('cuFrobnicate')
}
