/**
 * @module
 * Classes of requests: modalities, SLO and path (paper, section 4.2). A class is an index inside the core; its name lives here.
 */
import { bytes, doubles } from './columns.js'
import { ABOVE_0, expectInteger, expectNumber, HorizonError } from './errors.js'

/** `short`: the first response leaves after the shared stage. `long`: it needs a downstream stage. */
export type Path = 'short' | 'long'

export const SHORT = 0
export const LONG = 1

/** One class as the core takes it: complete and checked. */
export interface ClassSpec<Name extends string = string> {
  readonly name: Name
  readonly path: Path
  /** Δ: first-response SLO, ms after arrival. */
  readonly sloMs: number
  /** Lower goes first under strict priority. The paper's field: 0 text, 10 audio, 20 image output. */
  readonly priority: number
}

/** Classes as columns; the index of a class is its place in the list given. */
export interface ClassTable<Name extends string = string> {
  readonly count: number
  readonly names: readonly Name[]
  /** `SHORT` or `LONG` per class. */
  readonly path: Uint8Array
  /** The classes of a path, by path. */
  readonly ofPath: readonly Int32Array[]
  readonly sloMs: Float64Array
  readonly priority: Float64Array
  /** Index of a class, or -1. */
  indexOf(name: string): number
}

/** At most this many classes: verdicts are kept per class, and a step visits each. */
export const MAX_CLASSES = 64

/** Builds the table. Throws `ERR_CORE_CLASSES` for none, too many, doubled or impossible ones. */
export function createClassTable<Name extends string>(
  specs: readonly ClassSpec<Name>[],
): ClassTable<Name> {
  expectInteger('ERR_CORE_CLASSES', 'classes', specs.length, 1, MAX_CLASSES)
  const index = new Map<string, number>()
  const path = bytes(specs.length)
  const sloMs = doubles(specs.length)
  const priority = doubles(specs.length)
  for (const [i, spec] of specs.entries()) {
    const field = `classes.${spec.name}`
    if (index.has(spec.name)) {
      throw new HorizonError('ERR_CORE_CLASSES', 'the name is taken', { field })
    }
    expectNumber('ERR_CORE_CLASSES', `${field}.sloMs`, spec.sloMs, ABOVE_0)
    expectNumber('ERR_CORE_CLASSES', `${field}.priority`, spec.priority, -Number.MAX_VALUE)
    index.set(spec.name, i)
    path[i] = spec.path === 'long' ? LONG : SHORT
    sloMs[i] = spec.sloMs
    priority[i] = spec.priority
  }
  return {
    count: specs.length,
    names: specs.map((spec) => spec.name),
    path,
    ofPath: [SHORT, LONG].map((of) => Int32Array.from(path.keys()).filter((c) => path[c] === of)),
    sloMs,
    priority,
    indexOf: (name) => index.get(name) ?? -1,
  }
}
