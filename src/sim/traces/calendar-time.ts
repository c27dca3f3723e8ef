/**
 * @module
 * Times of traces written as calendar dates, with or without a fraction, with or without a zone.
 */

const DATE =
  /^(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})? ?(Z|[+-]\d{2}(?::?\d{2})?)?$/i

/** Whether a date, as written, has a zone. */
export function hasZone(text: string): boolean {
  return /(?:Z|:\d{2}(?:\.\d*)? ?[+-]\d{2}(?::?\d{2})?)$/i.test(text)
}

/**
 * Milliseconds since 1970, the fraction kept beyond the millisecond and the zone taken off; a date without a zone is taken as UTC.
 * NaN if it is no date.
 */
export function calendarMs(text: string): number {
  const parts = DATE.exec(text)
  if (parts === null) return Number.NaN
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (hour > 23 || minute > 59 || second > 59) return Number.NaN
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second))
  // Date.UTC lets the 31st of February roll over; a trace must not.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return Number.NaN
  return date.getTime() - zoneMs(parts[8]) + Number(parts[7] ?? 0) * 1000
}

function zoneMs(zone: string | undefined): number {
  if (zone === undefined || zone.length === 1) return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = zone.length > 3 ? Number(zone.slice(-2)) : 0
  if (hours > 14 || minutes > 59) return Number.NaN
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
