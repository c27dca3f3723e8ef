import type { CliIo } from '../../src/cli/command.js'
import { runCli } from '../../src/cli/main.js'

/** Runs one command line in this process, as in a pipe: no progress bar. */
export async function cli(
  ...argv: readonly string[]
): Promise<{ code: number; out: string; err: string }> {
  const result = { code: -1, out: '', err: '' }
  const io: CliIo = {
    out: (text) => {
      result.out += text
    },
    err: (text) => {
      result.err += text
    },
    progress: false,
    columns: 100,
  }
  result.code = await runCli(argv, io)
  return result
}
