import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli } from '../support/cli.js'

const folder = mkdtempSync(join(tmpdir(), 'reproduce-'))

test('writes a page and a Markdown file, and a second call says the same', async () => {
  const markdown = join(folder, 'results.md')
  const page = join(folder, 'results.html')
  const args = ['reproduce', 'figure10', '--seeds', '2', '--minutes', '3']
  const files = ['--results', join(folder, 'rows.jsonl'), '--markdown', markdown, '--page', page]
  const first = await cli(...args, ...files)
  expect(first.err).toContain('page:')
  expect(first.code).toBe(0)
  const text = readFileSync(markdown, 'utf8')
  expect(text).toContain('horizonserve reproduce figure10 --seeds 2 --minutes 3')
  expect(text).toContain('0.926')
  const html = readFileSync(page, 'utf8')
  expect(html).toContain("default-src 'none'")
  expect(html).not.toMatch(/(src|href)="http/)
  await cli(...args, ...files)
  expect(readFileSync(markdown, 'utf8')).toBe(text)
})

test('an unknown figure is bad input that names the known ones', async () => {
  const { code, err } = await cli('reproduce', 'figure1')
  expect(code).toBe(2)
  expect(err).toContain('figure8')
})

test('a folder without the traces is bad input', async () => {
  const { code, err } = await cli('reproduce', 'real', '--traces', folder)
  expect(code).toBe(2)
  expect(err).toContain('AzureLLMInferenceTrace_conv.csv')
})

test('tune prints what it found and how much survives; an unknown objective is bad input', async () => {
  const small = ['--model', 'bagel', '--requests', '30', '--trials', '3', '--seeds', '2']
  const { code, out } = await cli('tune', ...small, '--held-out', '2', '--json')
  expect(code).toBe(0)
  const found = JSON.parse(out) as { tried: number; heldOutGain: { n: number }; simulated: boolean }
  expect(found).toMatchObject({ simulated: true, heldOutGain: { n: 2 } })
  expect(found.tried).toBeLessThanOrEqual(3)
  const wrong = await cli('tune', '--objective', 'luck')
  expect(wrong.code).toBe(2)
  expect(wrong.err).toContain('worst-class')
})
