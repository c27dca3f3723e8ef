/**
 * @module
 * Tables for a terminal or a log: first column left, the others right, no colours.
 */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) =>
        i === 0 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number),
      )
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return `${[line(head), rule, ...rows.map(line)].join('\n')}\n`
}
