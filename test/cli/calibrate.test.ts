import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { EXIT } from '../../src/cli/command.js'
import { parseConfig } from '../../src/config.js'
import { createHorizonFromFile } from '../../src/config-file.js'
import { cli } from '../support/cli.js'

const folder = mkdtempSync(join(tmpdir(), 'horizonserve-calibrate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const at = (name: string): string => join(folder, name)

test('--collect writes the two files, and they make a configuration that the scheduler takes', async () => {
  const files = ['--solo', at('solo.jsonl'), '--sweep', at('sweep.csv')]
  const made = await cli(
    ...[
      'calibrate',
      '--collect',
      '--model',
      'bagel',
      '--requests-per-class',
      '20',
      ...files,
      '--out',
      at('made.yaml'),
    ],
  )
  expect([made.code, made.out]).toEqual([EXIT.ok, expect.stringContaining('configuration: ')])
  expect(made.err).toContain('simulated')
  const horizon = await createHorizonFromFile(at('made.yaml'), {})
  expect(horizon.classes.names).toContain('i2i')
  // The files alone give the same answer, as JSON.
  const again = await cli('calibrate', ...files, '--json')
  const config = JSON.parse(again.out)
  expect(parseConfig(config).classes.map((of) => of.sloMs)).toEqual(
    [...horizon.classes.sloMs].map((ms) => expect.closeTo(ms, 6)),
  )
  // Measurements are not overwritten.
  const second = await cli('calibrate', '--collect', '--model', 'bagel', ...files)
  expect([second.code, second.err]).toEqual([EXIT.badInput, expect.stringContaining('EEXIST')])
})

test('a broken line of either file is named', async () => {
  writeFileSync(at('bad.jsonl'), '{"class":"t2t","sharedMs":1,"firstResponseMs":1}\n{}\n')
  writeFileSync(
    at('bad.csv'),
    'sms,decode_tpot_ms,corun_ttft_ms,corun_pressure\n8,1,1,0.5\n9,x,1,1\n',
  )
  const solo = await cli('calibrate', '--solo', at('bad.jsonl'), '--sweep', at('sweep.csv'))
  expect([solo.code, solo.err]).toEqual([
    EXIT.badInput,
    expect.stringContaining('bad.jsonl, line 2'),
  ])
  const sweep = await cli('calibrate', '--solo', at('solo.jsonl'), '--sweep', at('bad.csv'))
  expect([sweep.code, sweep.err]).toEqual([
    EXIT.badInput,
    expect.stringContaining('bad.csv, line 3'),
  ])
})

test('init writes a configuration that is valid as it stands, and does not overwrite one', async () => {
  expect((await cli('init', at('start.yaml'))).code).toBe(EXIT.ok)
  const horizon = await createHorizonFromFile(at('start.yaml'), {})
  expect(horizon.classes.names).toEqual(['chat', 'speech', 'picture'])
  writeFileSync(at('start.yaml'), 'mine')
  const refused = await cli('init', at('start.yaml'))
  expect([refused.code, refused.err]).toEqual([
    EXIT.badInput,
    expect.stringContaining('ERR_CLI_EXISTS'),
  ])
  expect(readFileSync(at('start.yaml'), 'utf8')).toBe('mine')
  expect((await cli('init', at('start.yaml'), '--force')).code).toBe(EXIT.ok)
  expect((await cli('init', join(folder, 'no', 'such', 'folder.yaml'))).code).toBe(EXIT.badInput)
})

test('simulate compares the policy of a configuration under the name config', async () => {
  await cli('init', at('policy.yaml'))
  const argv = [
    'simulate',
    '--model',
    'bagel',
    '--requests',
    '20',
    '--policies',
    'vanilla',
    '--json',
  ]
  const { code, out } = await cli(...argv, '--config', at('policy.yaml'))
  expect(code).toBe(EXIT.ok)
  expect(JSON.parse(out).policies.map((of: { name: string }) => of.name)).toEqual([
    'vanilla',
    'config',
  ])
  expect((await cli(...argv, '--config', at('none.yaml'))).code).toBe(EXIT.badInput)
})

test.each(['calibrate', 'init'])('%s --help exits with 0', async (name) => {
  expect((await cli(name, '--help')).code).toBe(EXIT.ok)
})
