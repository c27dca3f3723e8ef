/**
 * @module
 * What an operator wants to know of a running engine: attainment and slack per class, and what the boundary costs the engine.
 */

/** Latency of the last boundaries, in buckets that Prometheus can take: upper edges in ns. */
export const BOUNDARY_EDGES_NS: readonly number[] = [
  5_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000,
]

/** One class's first responses. */
export interface ClassTally {
  responded: number
  met: number
  latencySumMs: number
  /** Of them, those that arrived while the policy was only watched. */
  observedResponded: number
  observedMet: number
}

/** Collects; read it as it is. */
export interface MetricsBook {
  readonly names: readonly string[]
  readonly classes: readonly ClassTally[]
  /** Counts by edge of `BOUNDARY_EDGES_NS`, then one beyond. */
  readonly boundary: Float64Array
  boundarySumNs: number
  boundaryCount: number
  onFirstResponse(
    this: void,
    classIndex: number,
    latencyMs: number,
    met: boolean,
    wasObserved?: boolean,
  ): void
  onStep(this: void, boundaryNs: number): void
}

export function createMetricsBook(names: readonly string[]): MetricsBook {
  const classes: ClassTally[] = names.map(() => ({
    responded: 0,
    met: 0,
    latencySumMs: 0,
    observedResponded: 0,
    observedMet: 0,
  }))
  const boundary = new Float64Array(BOUNDARY_EDGES_NS.length + 1)
  const book: MetricsBook = {
    names,
    classes,
    boundary,
    boundarySumNs: 0,
    boundaryCount: 0,
    onFirstResponse(classIndex, latencyMs, met, wasObserved = false) {
      const tally = classes[classIndex]
      if (tally === undefined) return
      tally.responded += 1
      tally.met += met ? 1 : 0
      tally.latencySumMs += latencyMs
      if (!wasObserved) return
      tally.observedResponded += 1
      tally.observedMet += met ? 1 : 0
    },
    onStep(boundaryNs) {
      let at = 0
      while (at < BOUNDARY_EDGES_NS.length && boundaryNs > BOUNDARY_EDGES_NS[at]!) at += 1
      boundary[at] = boundary[at]! + 1
      book.boundarySumNs += boundaryNs
      book.boundaryCount += 1
    },
  }
  return book
}
