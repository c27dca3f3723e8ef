/**
 * @module
 * Findings as text for a terminal: what may be done, then what may not, each with its reason.
 */
import type { Finding } from './analyze.js'

export function renderFindings(findings: readonly Finding[]): string {
  const lines: string[] = []
  for (const legal of [true, false]) {
    const part = findings.filter((finding) => finding.legal === legal)
    if (part.length === 0) continue
    lines.push(legal ? 'May be done' : 'May not be done')
    for (const finding of part) {
      lines.push(`  ${finding.id} ${finding.rule}: ${finding.nodes.join(', ')}`)
      lines.push(`      ${finding.why}`)
      const { relieves } = finding
      if (relieves !== undefined) {
        const most = relieves.upToMs === undefined ? '' : `, at most ${relieves.upToMs} ms`
        lines.push(`      relieves ${relieves.target}${most}: ${relieves.text}`)
      }
    }
  }
  return `${lines.join('\n')}\n`
}
