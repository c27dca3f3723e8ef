/**
 * @module
 * A shared library opened by name or path, and its symbols probed one by one: what a driver exports depends on its
 * version, and a missing symbol is an answer, not an accident.
 */
import { existsSync } from 'node:fs'
import { type KoffiLibrary, loadKoffi, type NativeFunction } from './koffi.js'
import { nativeError } from './native-error.js'

/** An open library. It is never unloaded: drivers start threads that would then run unmapped code. */
export interface NativeLibrary {
  /** The name or path it was opened by. */
  readonly path: string
  /** Binds a C prototype, or `undefined` when the library has no such symbol. */
  probe(prototype: string): NativeFunction | undefined
  /** Binds a C prototype that must be there. @throws `ERR_NATIVE_SYMBOL_MISSING` */
  bind(prototype: string): NativeFunction
}

/** What a failed attempt to open says, so that `doctor` can report it without an exception. */
export interface LibraryMissing {
  readonly path: string
  /** The loader's own words, e.g. `libcuda.so.1: cannot open shared object file`. */
  readonly reason: string
}

const open = new Map<string, NativeLibrary>()

/**
 * Opens the first candidate that loads, in order; the outcome of every failed one is in `missing`.
 * Names without a slash are searched as the dynamic loader does.
 */
export function tryOpenLibrary(candidates: readonly string[]): {
  readonly library: NativeLibrary | undefined
  readonly missing: readonly LibraryMissing[]
} {
  const missing: LibraryMissing[] = []
  for (const path of candidates) {
    const known = open.get(path)
    if (known !== undefined) return { library: known, missing }
    // The loader takes an empty name for the program itself.
    if (path === '') {
      missing.push({ path, reason: 'no path' })
      continue
    }
    try {
      const library = wrap(path, loadKoffi().load(path))
      open.set(path, library)
      return { library, missing }
    } catch (cause) {
      if (isUnavailable(cause)) throw cause
      missing.push({ path, reason: reasonOf(path, cause) })
    }
  }
  return { library: undefined, missing }
}

/**
 * Opens the first candidate that loads.
 * @throws `ERR_NATIVE_LIBRARY_UNAVAILABLE` naming every candidate and why it did not load.
 */
export function openLibrary(candidates: readonly string[], hint: string): NativeLibrary {
  const { library, missing } = tryOpenLibrary(candidates)
  if (library !== undefined) return library
  throw nativeError(
    'ERR_NATIVE_LIBRARY_UNAVAILABLE',
    `no library loads: ${missing.map((m) => `${m.path} (${m.reason})`).join('; ') || 'no candidate was given'}`,
    hint,
  )
}

function wrap(path: string, library: KoffiLibrary): NativeLibrary {
  const bound = new Map<string, NativeFunction>()
  const probe = (prototype: string): NativeFunction | undefined => {
    const known = bound.get(prototype)
    if (known !== undefined) return known
    try {
      const fn = library.func(prototype)
      bound.set(prototype, fn)
      return fn
    } catch (cause) {
      // koffi gives no error code. A prototype that does not parse is our own mistake and must not pass for a missing symbol.
      if (cause instanceof Error && cause.message.startsWith('Cannot find function')) return
      throw cause
    }
  }
  return {
    path,
    probe,
    bind(prototype) {
      const fn = probe(prototype)
      if (fn !== undefined) return fn
      throw nativeError(
        'ERR_NATIVE_SYMBOL_MISSING',
        `${path} has no function \`${prototype}\``,
        'The library is older than this function, or is not the one its name says',
      )
    },
  }
}

/** koffi puts the loader's sentence behind its own; a path that is not there is said plainly. */
function reasonOf(path: string, cause: unknown): string {
  if (path.includes('/') && !existsSync(path)) return 'no such file'
  const text = cause instanceof Error ? cause.message : String(cause)
  return text.replace(/^Failed to load shared library: /, '')
}

function isUnavailable(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ERR_NATIVE_KOFFI_UNAVAILABLE'
}
