/**
 * @module
 * Findings as text for a terminal: what may be done, then what may not, each with its reason. Many of one kind are one.
 */
import type { Finding } from './analyze.js'
import { type FindingGroup, groupFindings } from './group-findings.js'

/** Names of a group that are printed. */
const NAMES = 6

export function renderFindings(findings: readonly Finding[]): string {
  const lines: string[] = []
  for (const legal of [true, false]) {
    const part = findings.filter((finding) => finding.legal === legal)
    if (part.length === 0) continue
    lines.push(legal ? 'May be done' : 'May not be done')
    for (const group of groupFindings(part)) {
      const { first } = group
      lines.push(`  ${first.id} ${first.rule}: ${subject(group)}`)
      lines.push(`      ${group.count > 1 ? 'for example: ' : ''}${first.why}`)
      const { relieves } = first
      if (relieves !== undefined) {
        const known = relieves.upToMs !== undefined && group.count === 1
        lines.push(
          `      relieves ${relieves.target}${known ? `, at most ${relieves.upToMs} ms` : ''}: ${relieves.text}`,
        )
      }
    }
  }
  return `${lines.join('\n')}\n`
}

function subject({ count, nodes, everyPair, first }: FindingGroup): string {
  if (count === 1) return first.nodes.join(', ')
  const names = nodes.length > NAMES ? `${nodes.slice(0, NAMES).join(', ')}, …` : nodes.join(', ')
  return everyPair
    ? `any two of ${nodes.length} nodes (${names})`
    : `${count} times, among ${nodes.length} nodes (${names})`
}
