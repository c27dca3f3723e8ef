/**
 * @module
 * `horizonserve analyze FILE`: what a deployment may do to a pipeline, what it must not, and why.
 */
import type { Command } from 'commander'
import { HorizonError } from '../../core/errors.js'
import { analyze, emitMermaid, renderFindings, renderSarif } from '../../deploy/index.js'
import { type CliCommand, EXIT } from '../command.js'
import { loadPipeline, packageVersion } from '../load-pipeline.js'

const FORMATS = ['text', 'json', 'sarif', 'mermaid'] as const

export const command: CliCommand = {
  name: 'analyze',
  summary: 'what may be streamed, split, shared and pipelined in a pipeline, and what may not',
  configure(command: Command): void {
    command
      .argument('<file>', 'a pipeline in YAML or JSON')
      .option('--format <format>', `one of ${FORMATS.join(', ')}`, 'text')
      .option('--json', 'the same as --format json')
  },
  async run(args, options, io) {
    const format = options.json === true ? 'json' : String(options.format)
    if (!FORMATS.some((known) => known === format))
      throw new HorizonError('ERR_CLI_OPTION', 'unknown format', {
        field: '--format',
        expected: `one of ${FORMATS.join(', ')}`,
        got: format,
      })
    const { graph, locate, file } = loadPipeline(args[0]!)
    const findings = analyze(graph)
    if (format === 'mermaid') io.out(emitMermaid(graph))
    else if (format === 'sarif')
      io.out(
        `${JSON.stringify(renderSarif(findings, packageVersion(), { file, locate }), null, 2)}\n`,
      )
    else if (format === 'json') {
      const rows = findings.map(({ at, ...finding }) => ({ ...finding, place: locate(at) }))
      io.out(`${JSON.stringify({ pipeline: graph.pipeline.name, findings: rows })}\n`)
    } else io.out(renderFindings(findings))
    return EXIT.ok
  },
}
