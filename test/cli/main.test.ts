import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
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

test('--help says what the exit codes mean', async () => {
  const io = capture()
  await runCli(['--help'], io)
  expect(io.text()).toContain(`Exit codes: ${EXIT.ok} it ran`)
  expect(io.text()).toContain(`${EXIT.internal} a bug of ours`)
})

test.skipIf(!existsSync('/dev/full'))(
  'output that cannot be written is no success (skipped without /dev/full)',
  () => {
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--import', 'tsx', 'src/cli/main.ts', 'plan', '--help'],
      { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' },
    )
    closeSync(full)
    expect(status).toBe(EXIT.badInput)
    expect(stderr).toContain('ERR_CLI_WRITE')
  },
)
