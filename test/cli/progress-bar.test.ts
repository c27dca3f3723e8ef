import { expect, test } from 'vitest'
import type { CliIo } from '../../src/cli/command.js'
import { createProgressBar } from '../../src/cli/progress-bar.js'
import { textTable } from '../../src/cli/text-table.js'

function draw(progress: boolean): string {
  let text = ''
  const io: CliIo = {
    out: () => {},
    err: (more) => {
      text += more
    },
    progress,
    columns: 80,
  }
  const bar = createProgressBar(io)
  bar.show('vanilla', 0)
  bar.show('vanilla', 0)
  bar.show('edf', 0.5)
  bar.clear()
  bar.clear()
  return text
}

test('a terminal sees one line that is drawn over, and cleared at the end', () => {
  const lines = draw(true).split('\r')
  expect(lines.length).toBe(4)
  expect(lines[2]).toContain(' 50 % edf')
  expect(lines[3]).toBe('\u001b[2K')
  for (const line of lines) expect(line.replace('\u001b[2K', '').length).toBeLessThan(80)
})

test('a pipe sees nothing', () => {
  expect(draw(false)).toBe('')
})

test('a table lines its columns up', () => {
  expect(
    textTable(
      ['policy', 'x'],
      [
        ['a', '10'],
        ['long name', '5'],
      ],
    ),
  ).toBe('policy      x\n---------  --\na          10\nlong name   5\n')
})
