import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EXIT } from '../../src/cli/command.js'
import { runCli } from '../../src/cli/main.js'

const hasPython = spawnSync('python3', ['--version']).status === 0
const before = { path: process.env.PYTHONPATH, plugins: process.env.VLLM_PLUGINS }
let site = ''
beforeEach(() => {
  site = mkdtempSync(join(tmpdir(), 'engine-command-'))
  process.env.PYTHONPATH = site
})
afterEach(() => {
  for (const [name, value] of [
    ['PYTHONPATH', before.path],
    ['VLLM_PLUGINS', before.plugins],
  ] as const)
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
})

/** A record of an installed package, as pip leaves it. */
function installed(name: string, version: string, entryPoints = ''): void {
  const folder = join(site, `${name.replaceAll('-', '_')}-${version}.dist-info`)
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'METADATA'),
    `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
  )
  if (entryPoints !== '') writeFileSync(join(folder, 'entry_points.txt'), entryPoints)
}
const PLUGIN = '[vllm.general_plugins]\nhorizonserve = horizonserve.plugin:register\n'

function deploy(text: string): string {
  const file = join(site, 'my.yaml')
  writeFileSync(file, text)
  return file
}

async function cli(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = ''
  let err = ''
  const code = await runCli(args, {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    progress: false,
    columns: 100,
  })
  return { code, out, err }
}

describe.skipIf(!hasPython)('horizonserve env and launch', () => {
  it('prints environment and command, and keeps base_config', async () => {
    installed('vllm', '0.30.0+cpu')
    installed('vllm-omni', '0.30.0')
    installed('horizonserve', '0.1.0', PLUGIN)
    writeFileSync(join(site, 'base.yaml'), 'async_chunk: false\n')
    const file = deploy('base_config: base.yaml\nstages: [{ stage_id: 0 }]\n')
    const { code, out } = await cli(
      'env',
      '--engine',
      'vllm-omni',
      '--deploy',
      file,
      '--segment',
      'here',
    )
    expect(code).toBe(EXIT.ok)
    expect(out).toContain('export HORIZONSERVE_SEGMENT=here\n')
    expect(out).toContain(`base_config is kept: ${join(site, 'base.yaml')}`)
    expect(out).toContain(`vllm serve MODEL --omni --deploy-config ${file}`)
    // A shell takes it as it is.
    const shell = spawnSync('sh', ['-c', `${out}\necho $HORIZONSERVE_SEGMENT`], {
      encoding: 'utf8',
    })
    expect(shell.stdout).toBe('here\n')
  })

  it.each([
    ['vllm-omni', {}, 'vllm is not installed'],
    ['vllm-omni', { vllm: '0.30.0' }, 'vllm-omni is not installed'],
    [
      'vllm',
      { vllm: '0.31.0', horizonserve: '0.1.0' },
      'vllm 0.31.0 was never started by our tests',
    ],
    ['vllm', { vllm: '0.30.0' }, 'the Python package is not in the environment'],
  ])(
    'refuses by name what %s lacks: %j',
    async (engine, packages: Record<string, string>, says) => {
      for (const [name, version] of Object.entries(packages))
        installed(name, version, name === 'horizonserve' ? PLUGIN : '')
      const { code, err } = await cli('env', '--engine', engine)
      expect(code).not.toBe(EXIT.ok)
      expect(err).toContain(says)
    },
  )

  it('takes an unknown version when asked to, and says when VLLM_PLUGINS keeps the plugin out', async () => {
    installed('vllm', '0.31.0')
    installed('horizonserve', '0.1.0', PLUGIN)
    expect((await cli('env', '--engine', 'vllm', '--any-version')).code).toBe(EXIT.ok)
    process.env.VLLM_PLUGINS = 'another'
    expect((await cli('env', '--engine', 'vllm', '--any-version')).err).toContain('VLLM_PLUGINS')
    process.env.VLLM_PLUGINS = 'another,horizonserve'
    expect((await cli('env', '--engine', 'vllm', '--any-version')).code).toBe(EXIT.ok)
  })

  it.each([
    ['base_config: nowhere.yaml\n', 'base_config is not there'],
    ['stages: [{ stage_id: 0, scheduler_cls: a.B }]\n', 'names a scheduler_cls'],
    ['- 1\n', 'is no mapping'],
    ['a: [\n', 'cannot be read'],
  ])(
    'refuses a deploy file with which the server would not start as meant: %j',
    async (text, says) => {
      installed('vllm', '0.30.0')
      installed('vllm-omni', '0.30.0')
      installed('horizonserve', '0.1.0', PLUGIN)
      const { code, err } = await cli('env', '--engine', 'vllm-omni', '--deploy', deploy(text))
      expect(code).toBe(EXIT.badInput)
      expect(err).toContain(says)
    },
  )

  it('launches the command with the name of the engine, and ends as it ends', async () => {
    installed('vllm', '0.30.0')
    installed('horizonserve', '0.1.0', PLUGIN)
    const vllm = join(site, 'vllm')
    writeFileSync(
      vllm,
      '#!/bin/sh\n[ "$HORIZONSERVE_SEGMENT" = there ] && [ "$2" = M ] && exit 7\nexit 1\n',
      { mode: 0o755 },
    )
    expect((await cli('launch', '--segment', 'there', '--', vllm, 'serve', 'M')).code).toBe(7)
    expect((await cli('launch', '--', 'rm', '-rf')).code).toBe(EXIT.badInput)
    expect((await cli('launch', '--', join(site, 'no/vllm'), 'serve', 'M')).code).toBe(
      EXIT.unavailable,
    )
  })

  it('doctor --engine says no where no engine of that name runs', async () => {
    const { code, out } = await cli('doctor', '--engine', `nobody-${process.pid}`)
    expect(code).toBe(EXIT.negative)
    expect(out).toContain('no segment')
  })
})
