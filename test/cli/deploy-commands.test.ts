import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type CliIo, EXIT } from '../../src/cli/command.js'
import { runCli } from '../../src/cli/main.js'

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = ''
  let err = ''
  const io: CliIo = {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    progress: false,
    columns: 100,
  }
  return { code: await runCli(argv, io), out, err }
}

const worldplay = 'examples/pipelines/worldplay.yaml'

test.each(readdirSync('examples/pipelines'))('analyze and plan run on %s', async (name) => {
  const file = join('examples/pipelines', name)
  const analysis = await run('analyze', file, '--json')
  expect(analysis.code).toBe(EXIT.ok)
  expect(JSON.parse(analysis.out).findings.length).toBeGreaterThan(3)
  const plans = await run(
    'plan',
    file,
    '--gpus',
    '4',
    '--hardware',
    'b200',
    '--objective',
    'rate',
    '--json',
  )
  expect(plans.err).toBe('')
  const [first] = JSON.parse(plans.out).plans
  expect(Object.keys(first)).toEqual(
    expect.arrayContaining([
      'objective',
      'placement',
      'degrees',
      'latencyMs',
      'ratePerSec',
      'optimal',
      'gap',
      'why',
    ]),
  )
})

test('analyze speaks text, SARIF and Mermaid, and refuses other formats', async () => {
  expect((await run('analyze', worldplay)).out).toContain('HSD302 disaggregate: dit, vae')
  expect(JSON.parse((await run('analyze', worldplay, '--format', 'sarif')).out).version).toBe(
    '2.1.0',
  )
  expect((await run('analyze', worldplay, '--format', 'mermaid')).out).toContain('flowchart')
  expect((await run('analyze', worldplay, '--format', 'xml')).code).toBe(EXIT.badInput)
})

test('plan prints a ranked table, a front in characters, and emits files', async () => {
  const table = await run('plan', worldplay, '--gpus', '6', '--hardware', 'b200')
  expect(table.out).toContain('dit + vae on g0-g3')
  expect(table.out).toContain('+----')
  const folder = mkdtempSync(join(tmpdir(), 'horizonserve-plan-'))
  try {
    const omni = 'examples/pipelines/qwen3-omni.yaml'
    const made = await run(
      'plan',
      omni,
      '--gpus',
      '2',
      '--hardware',
      'b200',
      '--objective',
      'rate',
      '--emit',
      'vllm-omni',
      '--out',
      folder,
    )
    expect(made.code).toBe(EXIT.ok)
    expect(readdirSync(folder).sort()).toEqual([
      'deploy.yaml',
      'gantt.html',
      'horizonserve-g1.yaml',
      'trace.json',
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a plan that does not fit exits with 1 and says what is missing', async () => {
  const agent = 'examples/pipelines/face-to-face-agent.yaml'
  const found = await run('plan', agent, '--gpus', '1', '--hardware', 'b200')
  expect(found.code).toBe(EXIT.negative)
  expect(found.err).toContain('2 GPUs would do')
})

test('bad files and bad options exit with 2 and name file and line, or the option', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'horizonserve-plan-'))
  try {
    const bad = join(folder, 'bad.yaml')
    writeFileSync(bad, readFileSync(worldplay, 'utf8').replace('to: vae', 'to: vea'))
    const broken = await run('plan', bad, '--gpus', '2')
    expect(broken.code).toBe(EXIT.badInput)
    expect(broken.err).toContain(`${bad}:30: no node 'vea'; known there: dit, vae`)
  } finally {
    rmSync(folder, { recursive: true })
  }
  expect((await run('analyze', 'no-such-file.yaml')).err).toContain('cannot read')
  expect((await run('plan', worldplay, '--gpus', 'x')).err).toContain('--gpus')
  expect((await run('plan', worldplay, '--gpus', '2', '--objective', 'speed')).err).toContain(
    '--objective',
  )
})
