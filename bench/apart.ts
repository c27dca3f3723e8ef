/**
 * @module
 * Runs one script of the bench bundle in a process of its own. A runtime has one scheduler, and code that has served a second one is
 * compiled for both, and slower: so each state that is measured gets a process.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { BenchContext } from './bench.js'

/** `node --expose-gc NAME.js ARGS… full|quick`; what it prints is JSON. */
export function runApart<Rows>(name: string, args: string[], { quick }: BenchContext): Rows {
  const script = fileURLToPath(new URL(`${name}.js`, import.meta.url))
  const text = execFileSync(
    process.execPath,
    ['--expose-gc', script, ...args, quick ? 'quick' : 'full'],
    { encoding: 'utf8' },
  )
  return JSON.parse(text) as Rows
}
