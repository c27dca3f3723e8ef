/**
 * @module
 * What goes wrong between an engine and its controller, told in one line of each kind, at most once in ten seconds: damage to the
 * segment, events that found no room, and a controller that did not run for a while.
 */
import { CONTROLLER_STALE_MS } from '../adapters/layout.js'

/** The counts of a link that tell of trouble. */
export interface TroubleCounts {
  readonly garbled: number
  readonly corruptEvents: number
  readonly droppedEvents: number
}

/** Looks and tells. */
export interface LinkHealth {
  /** Call in every tick; most calls compare one number. */
  look(nowNs: bigint): void
}

const LOOK_NS = 250_000_000n
const SILENT_NS = 10_000_000_000n
const PAUSED_NS = BigInt(CONTROLLER_STALE_MS) * 1_000_000n

/** `repair` puts right what somebody else overwrote, and names it. */
export function createLinkHealth(
  counts: TroubleCounts,
  tell: (text: string) => void,
  repair: () => string[],
): LinkHealth {
  const silentUntil = new Map<string, bigint>()
  const overwritten = new Set<string>()
  let lastNs: bigint | undefined
  let lookAt = 0n
  let toldDamage = 0
  let toldDropped = 0

  const say = (kind: string, nowNs: bigint, text: string): boolean => {
    if (nowNs < (silentUntil.get(kind) ?? 0n)) return false
    silentUntil.set(kind, nowNs + SILENT_NS)
    tell(text)
    return true
  }

  const lookAtDamage = (nowNs: bigint): void => {
    for (const what of repair()) overwritten.add(what)
    const unreadable = counts.corruptEvents + counts.garbled
    if (unreadable === toldDamage && overwritten.size === 0) return
    const parts: string[] = []
    if (unreadable > toldDamage) {
      parts.push(
        `${unreadable - toldDamage} records of the engine could not be read and are told again`,
      )
    }
    if (overwritten.size > 0) parts.push(`${[...overwritten].join(', ')} overwritten and put right`)
    if (!say('damage', nowNs, `the segment was damaged: ${parts.join('; ')}`)) return
    toldDamage = unreadable
    overwritten.clear()
  }

  return {
    look(nowNs) {
      if (lastNs !== undefined && nowNs - lastNs > PAUSED_NS) {
        const ms = (nowNs - lastNs) / 1_000_000n
        say(
          'pause',
          nowNs,
          `this controller did not run for ${ms} ms; the engine went on by itself`,
        )
      }
      lastNs = nowNs
      if (nowNs < lookAt) return
      lookAt = nowNs + LOOK_NS
      lookAtDamage(nowNs)
      if (counts.droppedEvents === toldDropped) return
      const more = counts.droppedEvents - toldDropped
      if (
        say(
          'dropped',
          nowNs,
          `the ring was full: ${more} events were dropped; the engine tells again what it holds`,
        )
      )
        toldDropped = counts.droppedEvents
    },
  }
}
