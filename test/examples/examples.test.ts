import { execFileSync } from 'node:child_process'
import { beforeAll, expect, test } from 'vitest'
import { freshDist } from '../support/fresh-dist.js'

/** Examples import the package by its name, as a user does, and so run on what was built. */
beforeAll(freshDist)

function run(example: string): string {
  return execFileSync(process.execPath, ['--import', 'tsx', `examples/${example}/main.ts`], {
    encoding: 'utf8',
  })
}

test('custom-scheduler: chats overtake the burst of speech that came before them', () => {
  const text = run('custom-scheduler')
  const [first] = text.split('\n')
  expect(first).toContain('chat 1, chat 2, chat 3, chat 4')
  expect(text).toContain('4 of 4 chats, 6 of 6 speeches')
})

test('own-policy: a policy of 15 lines stands beside the others', () => {
  const text = run('own-policy')
  expect(text.match(/% of all that arrived/g)).toHaveLength(4)
  expect(text).toContain('short-first')
})
