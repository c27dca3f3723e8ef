/**
 * @module
 * Element-wise equality of outputs, with tolerances per output and the first difference in words. Exact unless a tolerance
 * says otherwise: then even the sign of zero counts, so that "bit for bit" means it.
 */

/** Two numbers are equal when they differ by at most `absolute + relative * |expected|`. */
export interface Tolerance {
  readonly absolute: number
  readonly relative: number
}

/** Tolerances by output path (`video`, `video.frames`; indices left out); the longest that fits wins, `''` is the default. */
export type Tolerances = Readonly<Record<string, Tolerance>>

export interface Difference {
  /** Where, for example `[3].video[17]`. */
  readonly at: string
  readonly expected: string
  readonly got: string
}

export const EXACT: Tolerances = Object.freeze({ '': Object.freeze({ absolute: 0, relative: 0 }) })

/** The first place where `got` is not `expected`, or undefined. Walks arrays, typed arrays and plain records. */
export function firstDifference(
  expected: unknown,
  got: unknown,
  tolerances: Tolerances = EXACT,
): Difference | undefined {
  return walk(expected, got, { at: '', name: '', tolerances, depth: 0 })
}

/** One line for people and agents. */
export function describeDifference(difference: Difference): string {
  return `${difference.at || 'output'}: expected ${difference.expected}, got ${difference.got}`
}

interface Place {
  readonly at: string
  /** The path without indices, what tolerances are looked up by. */
  readonly name: string
  readonly tolerances: Tolerances
  readonly depth: number
}

/** Deeper than any output that means something, and far from the end of the stack. */
const MAX_DEPTH = 500

function own(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

function walk(expected: unknown, got: unknown, place: Place): Difference | undefined {
  if (place.depth > MAX_DEPTH)
    return { at: place.at, expected: `at most ${MAX_DEPTH} levels`, got: 'deeper nesting' }
  if (typeof expected === 'number' && typeof got === 'number')
    return near(expected, got, toleranceOf(place)) ? undefined : differ(expected, got, place)
  if (isList(expected) && isList(got)) {
    const shared = Math.min(expected.length, got.length)
    for (let i = 0; i < shared; i++) {
      const found = walk(expected[i], got[i], {
        ...place,
        at: `${place.at}[${i}]`,
        depth: place.depth + 1,
      })
      if (found !== undefined) return found
    }
    if (expected.length === got.length) return undefined
    return {
      at: `${place.at}.length`,
      expected: String(expected.length),
      got: String(got.length),
    }
  }
  if (isRecord(expected) && isRecord(got)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(got)])) {
      // Own keys alone: `__proto__` in somebody's JSON is a key like any other, and everything inherits a `constructor`.
      const found = walk(own(expected, key), own(got, key), {
        tolerances: place.tolerances,
        depth: place.depth + 1,
        at: place.at === '' ? key : `${place.at}.${key}`,
        name: place.name === '' ? key : `${place.name}.${key}`,
      })
      if (found !== undefined) return found
    }
    return undefined
  }
  return Object.is(expected, got) ? undefined : differ(expected, got, place)
}

function near(expected: number, got: number, tolerance: Tolerance): boolean {
  if (Object.is(expected, got)) return true
  // Not a number and infinities are never near anything but themselves.
  if (!Number.isFinite(expected) || !Number.isFinite(got)) return false
  const allowed = tolerance.absolute + tolerance.relative * Math.abs(expected)
  return allowed > 0 && Math.abs(expected - got) <= allowed
}

function toleranceOf(place: Place): Tolerance {
  const parts = place.name === '' ? [] : place.name.split('.')
  for (let depth = parts.length; depth >= 0; depth--) {
    const key = parts.slice(0, depth).join('.')
    if (Object.hasOwn(place.tolerances, key)) return place.tolerances[key]!
  }
  return EXACT['']!
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !isList(value)
}

function differ(expected: unknown, got: unknown, place: Place): Difference {
  return { at: place.at, expected: show(expected), got: show(got) }
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (Object.is(value, -0)) return '-0'
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
