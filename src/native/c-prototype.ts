/**
 * @module
 * The TypeScript type of a C function, read off the prototype that binds it: one text states both, and a wrong argument does not
 * compile. Knows the types in use: pointers, 64-bit and smaller integers.
 */
import type { Pointer } from './koffi.js'

/** An address, memory of a typed array (for the call alone), or NULL. */
type PointerArgument = Pointer | ArrayBufferView | null

type Argument<Text extends string> = Text extends `${string}*${string}`
  ? PointerArgument
  : Text extends `uint64_t ${string}` | `size_t ${string}`
    ? bigint | number
    : number

type ArgumentList<Text extends string> = Text extends ''
  ? []
  : Text extends `${infer First}, ${infer Rest}`
    ? [Argument<First>, ...ArgumentList<Rest>]
    : [Argument<Text>]

/** Arguments of `int f(void *p, uint32_t n)`: `[PointerArgument, number]`. */
export type CArguments<Prototype extends string> = Prototype extends `${string}(${infer List})`
  ? ArgumentList<List>
  : never

/** A bound function with that prototype. */
export type CFunction<Prototype extends string> = (
  ...args: CArguments<Prototype>
) => Prototype extends `void *${string}` ? Pointer : number
