/**
 * @module
 * What a command of the `horizonserve` CLI is: one file that declares its arguments and runs them.
 * Commands never touch `process` themselves, so that a test can run one in-process.
 */
import type { Command } from 'commander'

/** Exit codes, the same for every command. */
export const EXIT = Object.freeze({
  /** It ran, and the answer is good. */
  ok: 0,
  /** It ran, and the answer is no: a check failed, a plan does not fit, a gate refused. */
  negative: 1,
  /** The arguments or an input file are wrong; the message names what and where. */
  badInput: 2,
  /** Something this machine lacks: an optional package, a device, a permission. */
  unavailable: 3,
  /** A bug of ours. */
  internal: 70,
})

/** Where a command writes. `progress` is false in a pipe, where no bar is drawn. */
export interface CliIo {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly progress: boolean
  readonly columns: number
}

export interface CliCommand {
  readonly name: string
  readonly summary: string
  /** Declares arguments and options on the sub-command; reads nothing. */
  configure(command: Command): void
  /**
   * Runs it. `args` are the positional arguments in order, `options` what commander parsed.
   * Returns the exit code; throws a `HorizonError` for bad input.
   */
  run(args: readonly string[], options: Record<string, unknown>, io: CliIo): Promise<number>
}
