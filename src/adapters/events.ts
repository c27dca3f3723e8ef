/**
 * @module
 * What an engine tells its controller, one fixed-size record each. Events feed the slowdown, the metrics and the mirror of the
 * engine's queue; no decision of the engine waits for them, so that a lost one costs accuracy and never a request.
 */
import { protocolError } from './adapter-error.js'
import { crc32 } from './crc32.js'
import { EVENT_BYTES, KIND, MAX_KIND, MAX_STAGES } from './layout.js'

/** Bits of `f` in an arrival. */
export const ARRIVAL = Object.freeze({
  /** Told again, because a controller attached or events were lost. */
  resync: 1,
  running: 2,
  /** Waits, but must stay visible: preempted or resumed. */
  alwaysVisible: 4,
  responded: 8,
})

/**
 * One record. Reused by readers: copy what you keep.
 *
 * | kind | a | b | c | d | e | f |
 * | --- | --- | --- | --- | --- | --- | --- |
 * | arrive | slot | prompt tokens | audio, ms | images + videos·65536 | own SLO, ms (0: the class's) | `ARRIVAL` |
 * | admit, preempt, finish, abort, firstResponse, handedOver | slot | output tokens | urgency at admission | reason | step | |
 * | step | step | tokens scheduled | running + waiting·65536 (clamped) | phase + n·4 + passed·1024 | boundary, ns | admitted |
 * | activity | step | tokens scheduled | running | waiting | applied level + 1 | |
 * | syncBegin, syncEnd | controller session | live requests | | | | |
 */
export interface EngineEvent {
  seq: number
  kind: number
  stage: number
  classIndex: number
  timeNs: bigint
  /** The request across all stages: first 128 bits of the SHA-256 of its external id. */
  idHigh: bigint
  idLow: bigint
  a: number
  b: number
  c: number
  d: number
  e: number
  f: number
}

/** A record to reuse. */
export function createEvent(): EngineEvent {
  return {
    seq: 0,
    kind: KIND.step,
    stage: 0,
    classIndex: 0,
    timeNs: 0n,
    idHigh: 0n,
    idLow: 0n,
    a: 0,
    b: 0,
    c: 0,
    d: 0,
    e: 0,
    f: 0,
  }
}

/** Writes one event into `EVENT_BYTES` at `offset`, checksum included. */
export function encodeEvent(view: DataView, offset: number, event: Readonly<EngineEvent>): void {
  view.setUint32(offset, event.seq, true)
  view.setUint8(offset + 4, event.kind)
  view.setUint8(offset + 5, event.stage)
  view.setUint16(offset + 6, event.classIndex, true)
  view.setBigInt64(offset + 8, event.timeNs, true)
  view.setBigUint64(offset + 16, event.idHigh, true)
  view.setBigUint64(offset + 24, event.idLow, true)
  view.setUint32(offset + 32, event.a, true)
  view.setUint32(offset + 36, event.b, true)
  view.setUint32(offset + 40, event.c, true)
  view.setUint32(offset + 44, event.d, true)
  view.setUint32(offset + 48, event.e, true)
  view.setUint32(offset + 52, event.f, true)
  view.setUint32(offset + 56, 0, true)
  view.setUint32(offset + 60, eventChecksum(view, offset), true)
}

/**
 * Reads one event from a copy of its bytes into `out`.
 * @throws `ERR_ADAPTERS_PROTOCOL`
 */
export function decodeEvent(view: DataView, offset: number, out: EngineEvent): void {
  if (offset + EVENT_BYTES > view.byteLength) {
    throw protocolError('an event is cut short', {
      expected: `${EVENT_BYTES} bytes`,
      got: view.byteLength - offset,
    })
  }
  const crc = eventChecksum(view, offset)
  if (view.getUint32(offset + 60, true) !== crc) {
    throw protocolError('the checksum of an event is wrong', {
      expected: String(crc),
      got: view.getUint32(offset + 60, true),
    })
  }
  const kind = view.getUint8(offset + 4)
  if (kind < 1 || kind > MAX_KIND)
    throw protocolError('unknown kind of event', {
      field: 'kind',
      expected: `1 to ${MAX_KIND}`,
      got: kind,
    })
  const stage = view.getUint8(offset + 5)
  if (stage >= MAX_STAGES)
    throw protocolError('impossible stage', {
      field: 'stage',
      expected: `below ${MAX_STAGES}`,
      got: stage,
    })
  out.seq = view.getUint32(offset, true)
  out.kind = kind
  out.stage = stage
  out.classIndex = view.getUint16(offset + 6, true)
  out.timeNs = view.getBigInt64(offset + 8, true)
  out.idHigh = view.getBigUint64(offset + 16, true)
  out.idLow = view.getBigUint64(offset + 24, true)
  out.a = view.getUint32(offset + 32, true)
  out.b = view.getUint32(offset + 36, true)
  out.c = view.getUint32(offset + 40, true)
  out.d = view.getUint32(offset + 44, true)
  out.e = view.getUint32(offset + 48, true)
  out.f = view.getUint32(offset + 52, true)
}

function eventChecksum(view: DataView, offset: number): number {
  return crc32(new Uint8Array(view.buffer, view.byteOffset + offset, EVENT_BYTES), 0, 0, 60)
}
