import { expect, test } from 'vitest'
import { type CliIo, EXIT } from '../../src/cli/command.js'
import { runCli } from '../../src/cli/main.js'

function capture(): CliIo & { text: () => string } {
  let text = ''
  const add = (more: string): void => {
    text += more
  }
  return { out: add, err: add, progress: false, columns: 100, text: () => text }
}

test('--help lists the commands and exits with 0', async () => {
  const io = capture()
  expect(await runCli(['--help'], io)).toBe(EXIT.ok)
  expect(io.text()).toContain('horizonserve')
})

test('an unknown command is bad input', async () => {
  const io = capture()
  expect(await runCli(['no-such-command'], io)).toBe(EXIT.badInput)
})
