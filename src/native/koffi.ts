/**
 * @module
 * The one place that loads koffi, and only when something native is first asked for: the package is optional, and nobody
 * who only schedules or simulates should pay for it or need it.
 *
 * The types below are the part of koffi 3 that this library uses. They are written out so that our published
 * declarations do not need koffi's to be installed.
 */
import { createRequire } from 'node:module'
import { nativeError } from './native-error.js'

/** An address in this process. koffi 3 hands pointers over as BigInt; `0n` is NULL. As an argument a typed array stands for its memory. */
export type Pointer = bigint

/** A bound C function. The prototype that bound it decides the types; the caller states them once, where it binds. */
// biome-ignore lint/suspicious/noExplicitAny: a C prototype is not visible to the compiler
export type NativeFunction = (...args: any[]) => any

/** A loaded shared library. */
export interface KoffiLibrary {
  /** Binds by C prototype, e.g. `int cuInit(unsigned int flags)`; throws when the symbol is missing. */
  func(prototype: string): NativeFunction
  unload(): void
}

/** The part of koffi 3.x in use. */
export interface Koffi {
  /** `null` is the process itself with all it has loaded, libc included. */
  load(path: string | null): KoffiLibrary
  /** Memory outside the JavaScript heap; its address never moves. Free with `free`. */
  alloc(type: string, count: number): Pointer
  free(pointer: Pointer): void
  /** An ArrayBuffer over native memory. It does not keep the memory alive: never free or unmap under it. */
  view(pointer: Pointer, bytes: number): ArrayBuffer
  /** The address of a typed array's memory, valid while the array lives and is not transferred. */
  address(value: ArrayBufferView): Pointer
  readonly decode: {
    (pointer: Pointer, type: string): unknown
    /** Reads a C string; with a length it stops there at the latest. */
    string(pointer: Pointer, bytes?: number): string
  }
  struct(fields: Record<string, unknown>): unknown
  array(type: string, count: number): unknown
  sizeof(type: unknown): number
  alignof(type: unknown): number
  offsetof(type: unknown, field: string): number
  /** `errno` of the last call made on this thread. */
  errno(): number
  readonly os: { readonly errno: Readonly<Record<string, number>> }
}

let loaded: Koffi | undefined

/**
 * koffi, loaded at the first call and kept.
 * @throws `ERR_NATIVE_KOFFI_UNAVAILABLE` when it is not installed, or not built for this platform.
 */
export function loadKoffi(): Koffi {
  loaded ??= requireKoffi(createRequire(import.meta.url))
  return loaded
}

/** `loadKoffi` with the resolver given, so that a test can ask what happens where koffi is missing. */
export function requireKoffi(require: (name: string) => unknown): Koffi {
  let koffi: unknown
  try {
    koffi = require('koffi')
  } catch (cause) {
    throw nativeError(
      'ERR_NATIVE_KOFFI_UNAVAILABLE',
      `koffi, the optional package that calls native libraries, did not load on ${process.platform}-${process.arch}: ${firstLine(cause)}`,
      'Run `npm install koffi@3`; scheduling, simulation and planning work without it',
      cause,
    )
  }
  if (!isKoffi(koffi)) {
    throw nativeError(
      'ERR_NATIVE_KOFFI_VERSION',
      'expected koffi 3, got a package of that name without `load`, `view`, `address` and BigInt pointers',
      'Run `npm install koffi@3`',
    )
  }
  return koffi
}

/** koffi 2 has no `decode.string` and hands pointers over as objects, which every caller here would misread. */
function isKoffi(value: unknown): value is Koffi {
  const koffi = value as Partial<Koffi> | null | undefined
  return (
    typeof koffi?.load === 'function' &&
    typeof koffi.view === 'function' &&
    typeof koffi.address === 'function' &&
    typeof koffi.alloc === 'function' &&
    typeof koffi.decode?.string === 'function'
  )
}

function firstLine(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split('\n', 1)[0] ?? ''
}
