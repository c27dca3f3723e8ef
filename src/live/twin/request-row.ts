/**
 * @module
 * A request inside the twin: what it asks for, what it is told, and what became of it.
 */

/** What a client asks the twin for, in the units of the model. */
export interface TwinRequest {
  readonly classIndex: number
  readonly promptTokens: number
  readonly answerTokens: number
  readonly audioSeconds: number
  readonly images: number
  readonly videos: number
  /** Own first-response SLO, ms. */
  readonly sloMs?: number
}

/** Instants on the engine's clock, ms; NaN for what did not happen (yet). */
export interface RowTimes {
  arrivedMs: number
  admittedMs: number
  firstTokenMs: number
  decodedMs: number
  downstreamStartMs: number
  firstResponseMs: number
  finishedMs: number
}

/** Hears of one request, in this order. */
export interface TwinListener {
  /** Tokens decoded so far. */
  tokens?(done: number, times: RowTimes): void
  /** The shared stage is through with it, and so many units of downstream work follow. */
  handedOver?(units: number, times: RowTimes): void
  /** Units of downstream work whose output may leave: the first time it is the first response. */
  units?(done: number, times: RowTimes): void
  /** The policy refuses it; nothing else follows. It would have had its first response at `earliestMs` at the earliest. */
  shed?(earliestMs: number, times: RowTimes): void
  end(times: RowTimes): void
}

export interface Row {
  listener: TwinListener | undefined
  classIndex: number
  sloMs: number | undefined
  readonly times: RowTimes
}

export function createRow(): Row {
  return { listener: undefined, classIndex: 0, sloMs: undefined, times: noTimes() }
}

function noTimes(): RowTimes {
  const none = Number.NaN
  return {
    arrivedMs: none,
    admittedMs: none,
    firstTokenMs: none,
    decodedMs: none,
    downstreamStartMs: none,
    firstResponseMs: none,
    finishedMs: none,
  }
}

/** Empties a row for its next request. */
export function clearRow(row: Row): void {
  row.listener = undefined
  row.sloMs = undefined
  Object.assign(row.times, noTimes())
}
