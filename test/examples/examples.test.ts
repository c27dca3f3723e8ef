import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Examples import the package by its name, as a user does, and so run on what was built. */
const needsBuild = existsSync('dist/index.js') ? false : 'dist is not built: npm run build'

function run(example: string): string {
  return execFileSync(process.execPath, ['--import', 'tsx', `examples/${example}/main.ts`], {
    encoding: 'utf8',
  })
}

test.skipIf(needsBuild)(
  'custom-scheduler: chats overtake the burst of speech that came before them',
  () => {
    const text = run('custom-scheduler')
    const [first] = text.split('\n')
    expect(first).toContain('chat 1, chat 2, chat 3, chat 4')
    expect(text).toContain('4 of 4 chats, 6 of 6 speeches')
  },
)

test.skipIf(needsBuild)('own-policy: a policy of 15 lines stands beside the others', () => {
  const text = run('own-policy')
  expect(text.match(/% of all that arrived/g)).toHaveLength(4)
  expect(text).toContain('short-first')
})
