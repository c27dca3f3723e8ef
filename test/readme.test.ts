import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDist } from './support/fresh-dist.js'

/** The snippets of the README, run as they stand against the built package, which they import by its name. */
const FOLDER = 'out/readme'
const snippets = [...readFileSync('README.md', 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
  (match) => match[1]!,
)

beforeAll(freshDist)

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

test('there are snippets to run', () => {
  expect(snippets.length).toBeGreaterThanOrEqual(2)
})

test.each(snippets.map((text, i) => [i, text] as const))(
  'snippet %i of the README compiles and runs',
  (i, text) => {
    mkdirSync(FOLDER, { recursive: true })
    const file = `${FOLDER}/snippet-${i}.ts`
    writeFileSync(file, text)
    execFileSync(process.execPath, [
      'node_modules/typescript/bin/tsc',
      '--noEmit',
      '--ignoreConfig',
      '--strict',
      '--target',
      'es2023',
      '--module',
      'nodenext',
      '--skipLibCheck',
      '--types',
      'node',
      file,
    ])
    const printed = execFileSync(process.execPath, ['--import', 'tsx', file], { encoding: 'utf8' })
    if (i === 0) {
      expect(printed).toMatch(/^short 80 62$/m)
      expect(printed).toMatch(/hidden in this step/)
      expect(printed).toMatch(/^1$/m)
    }
  },
)
