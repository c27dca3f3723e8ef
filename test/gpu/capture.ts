import type { CliIo } from '../../src/cli/command.js'

/** An output that keeps what a command writes. */
export function capture(): CliIo & { readonly text: () => string; readonly errors: () => string } {
  let out = ''
  let err = ''
  return {
    out(more) {
      out += more
    },
    err(more) {
      err += more
    },
    progress: false,
    columns: 100,
    text: () => out,
    errors: () => err,
  }
}
