/**
 * @module
 * A results document as Markdown: text and tables; charts are for the page.
 */
import type { Block, ResultsDocument } from './document.js'

export function renderMarkdown(document: ResultsDocument): string {
  const parts = [`# ${document.title}`, ...document.intro]
  for (const section of document.sections) {
    parts.push(`## ${section.title}`, ...section.blocks.flatMap(blockText))
  }
  return `${parts.join('\n\n')}\n`
}

function blockText(block: Block): string[] {
  if (block.kind === 'chart') return []
  if (block.kind === 'text') return [block.text]
  const cell = (of: string): string => of.replaceAll('|', '\\|')
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`
  const rule = `|${block.head.map((_, i) => (i === 0 ? '---' : '---:')).join('|')}|`
  return [`${block.caption}:`, [line(block.head), rule, ...block.rows.map(line)].join('\n')]
}
