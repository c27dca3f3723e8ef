/**
 * @module
 * Findings as SARIF 2.1.0 (OASIS), the subset that code hosts read: one rule per id, a stable fingerprint per finding,
 * a line where the pipeline came from a file.
 */
import type { Locate } from '../ir/build-task-graph.js'
import type { Finding } from './analyze.js'
import { RULES } from './rules.js'

/** `locate` and `file` come from `readPipeline`; without a file the results carry logical locations only. */
export function renderSarif(
  findings: readonly Finding[],
  version: string,
  source?: { readonly file: string; readonly locate: Locate },
): Record<string, unknown> {
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'horizonserve',
            semanticVersion: version,
            rules: Object.entries(RULES).map(([name, { id, text }]) => ({
              id,
              name,
              shortDescription: { text },
              defaultConfiguration: { level: 'note' },
            })),
          },
        },
        results: findings.map((finding) => ({
          ruleId: finding.id,
          level: finding.legal ? 'note' : 'warning',
          message: { text: messageOf(finding) },
          partialFingerprints: { 'horizonserve/v1': `${finding.id}:${finding.nodes.join('|')}` },
          locations: [
            {
              ...(source !== undefined && {
                physicalLocation: {
                  artifactLocation: { uri: source.file },
                  region: { startLine: lineOf(source.locate(finding.at)) },
                },
              }),
              logicalLocations: finding.nodes.map((name) => ({
                fullyQualifiedName: name,
                kind: 'member',
              })),
            },
          ],
          properties: {
            legal: finding.legal,
            states: finding.states,
            ...(finding.relieves && { relieves: finding.relieves }),
          },
        })),
      },
    ],
  }
}

function messageOf(finding: Finding): string {
  const may = finding.legal ? 'may be done' : 'may not be done'
  return `${finding.rule} of ${finding.nodes.join(', ')} ${may}: ${finding.why}.`
}

function lineOf(place: string): number {
  const line = Number(place.slice(place.lastIndexOf(':') + 1))
  return Number.isInteger(line) && line > 0 ? line : 1
}
