/**
 * @module
 * A burst of clients, and whether the controller's books say the same as they do.
 */
import type { LinkReport } from '../../../src/controller/link-report.js'
import { type Ask, chat, type Seen } from './client.js'
import { type Controller, check, reportWhere, type Server } from './suite.js'

let sent = 0

/** Text and speech in turn, `leaves` of them with clients that do not wait for the end. */
export function burst(
  server: Server,
  model: string,
  count: number,
  leaves = 0,
  shape: (kind: 'text' | 'audio') => Partial<Ask> = () => ({}),
): Promise<Seen[]> {
  return Promise.all(
    Array.from({ length: count }, (_, i) => {
      const kind = i % 3 === 0 ? 'audio' : 'text'
      sent += 1
      return chat(server.url, model, {
        id: `c${sent}`,
        kind,
        maxTokens: kind === 'audio' ? 48 : 12,
        ...(i < leaves ? { leave: i % 2 === 0 ? ('first' as const) : { afterMs: 20 * i } } : {}),
        ...shape(kind),
      })
    }),
  )
}

/** Nothing waits, runs, or is on its way, as far as the controller knows. */
export function isQuiet(report: LinkReport): boolean {
  return (
    report.longDownstream === 0 &&
    report.requests.live === 0 &&
    report.classes.every((c) => c.waiting === 0 && c.inShared === 0)
  )
}

/** After a burst: the controller lets go of everything. */
export async function expectQuiet(controller: Controller, seconds = 30): Promise<LinkReport> {
  const { report, fits } = await reportWhere(controller, isQuiet, seconds)
  check(fits && report !== undefined, `the controller still holds requests: ${brief(report)}`)
  return report
}

export function brief(report: LinkReport | undefined): string {
  if (report === undefined) return 'no report'
  const classes = report.classes.map(
    (c) => `${c.name} waiting ${c.waiting} running ${c.inShared} answered ${c.responded}`,
  )
  return `${classes.join(', ')}; downstream ${report.longDownstream}; ${JSON.stringify(report.requests)}`
}

/** Compares two reports with what the clients saw between them; the sentences that do not hold. */
export function differences(
  before: LinkReport,
  after: LinkReport,
  seen: readonly Seen[],
): string[] {
  const wrong: string[] = []
  const inRange = (what: string, got: number, least: number, most: number): void => {
    if (got < least || got > most) wrong.push(`${what}: ${got}, clients say ${least} to ${most}`)
  }
  const answered = seen.filter((s) => s.status === 'answered')
  const left = seen.filter((s) => s.status === 'aborted')
  const got = (key: 'arrived' | 'finished' | 'aborted'): number =>
    after.requests[key] - before.requests[key]
  inRange('arrived', got('arrived'), answered.length, answered.length + left.length)
  inRange('finished', got('finished'), answered.length, answered.length + left.length)
  inRange('aborted', got('aborted'), 0, left.length)
  if (got('arrived') !== got('finished') + got('aborted'))
    wrong.push(`${got('arrived')} arrived, ${got('finished')} finished, ${got('aborted')} aborted`)
  after.classes.forEach((c, i) => {
    const kind = c.name === 'text' ? 'text' : 'audio'
    const mine = answered.filter((s) => s.kind === kind).length
    const maybe = left.filter((s) => s.kind === kind).length
    inRange(
      `first responses of ${c.name}`,
      c.responded - before.classes[i]!.responded,
      mine,
      mine + maybe,
    )
  })
  return wrong
}
