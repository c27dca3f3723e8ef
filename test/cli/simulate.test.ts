import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { EXIT } from '../../src/cli/command.js'
import { parseReportData } from '../../src/sim/report/report-data.js'
import { cli } from '../support/cli.js'

const folder = mkdtempSync(join(tmpdir(), 'horizonserve-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// BAGEL has the fewest classes and the shortest decodes: the quickest to calibrate.
const MODEL = ['--model', 'bagel']
const QUICK = [
  'simulate',
  ...MODEL,
  '--requests',
  '30',
  '--policies',
  'vanilla,horizonserve',
  '--seed',
  '3',
]
const TRACE = join(folder, 'trace.csv')
writeFileSync(
  TRACE,
  ['arrival_s,prompt_tokens,output_tokens', '0,100,20', '2,200,30', 'x,1,1', '4,50,10'].join('\n'),
)

test('--json prints one object, the same for the same seed, and nothing on stderr', async () => {
  const first = await cli(...QUICK, '--json')
  expect([first.code, first.err]).toEqual([EXIT.ok, ''])
  expect(first.out.trim().split('\n').length).toBe(1)
  const data = parseReportData(JSON.parse(first.out), 'stdout')
  expect(data.policies.map((of) => of.name)).toEqual(['vanilla', 'horizonserve'])
  for (const { all } of data.policies) {
    expect(all.arrived).toBe(30)
    expect(all.completed + all.refused + all.unfinished).toBe(30)
  }
  expect((await cli(...QUICK, '--json')).out).toBe(first.out)
})

test('without --json it prints a table per policy and class', async () => {
  const { code, out } = await cli(...QUICK)
  expect(code).toBe(EXIT.ok)
  expect(out).toContain('Simulated: bagel on rtx-6000-ada')
  expect(out).toMatch(/^vanilla .*\d/m)
  expect(out).toMatch(/^horizonserve .*\d/m)
  expect(out).toContain('t2t')
})

test('simulate --json and report make the same file as simulate --report', async () => {
  const json = join(folder, 'result.json')
  const [direct, drawn] = [join(folder, 'direct.html'), join(folder, 'drawn.html')]
  const result = await cli(...QUICK, '--json', '--report', direct)
  writeFileSync(json, result.out)
  expect(result.err).toContain(direct)
  const { code, out } = await cli('report', json, '--out', drawn)
  expect([code, out]).toEqual([EXIT.ok, `report: ${drawn}\n`])
  expect(readFileSync(drawn, 'utf8')).toBe(readFileSync(direct, 'utf8'))
})

test('a broken line of a trace is named; --skip-bad counts it and goes on', async () => {
  const strict = await cli('simulate', '--trace', TRACE, '--json')
  expect(strict.code).toBe(EXIT.badInput)
  expect(strict.err).toContain('trace.csv, line 4')
  expect(strict.err).toContain('ERR_SIM_TRACE_LINE')
  const lenient = await cli(
    'simulate',
    '--trace',
    TRACE,
    '--skip-bad',
    '--json',
    '--policies',
    'edf',
  )
  const { workload } = parseReportData(JSON.parse(lenient.out), 'stdout')
  expect([workload.requests, workload.skippedLines]).toEqual([3, 1])
})

test('--requests takes the first requests of a trace', async () => {
  const argv = ['simulate', ...MODEL, '--trace', TRACE, '--skip-bad', '--json', '--policies', 'edf']
  const { out } = await cli(...argv, '--requests', '2')
  expect(parseReportData(JSON.parse(out), 'stdout').workload.requests).toBe(2)
})

test('--rate rescales a trace; "trace" keeps its times', async () => {
  const run = async (rate: string): Promise<number | null> => {
    const { out } = await cli(
      ...[
        'simulate',
        '--trace',
        TRACE,
        '--skip-bad',
        '--json',
        '--policies',
        'edf',
        '--rate',
        rate,
      ],
    )
    return parseReportData(JSON.parse(out), 'stdout').workload.offeredPerSecond
  }
  expect(await run('trace')).toBeCloseTo(0.5, 9)
  expect(await run('2')).toBeCloseTo(2, 9)
})

test.each([
  [['--rate', 'trace'], 'no trace whose times'],
  [['--rate', '-1'], '--rate'],
  [['--rate', 'fast'], '--rate'],
  [['--long-fraction', '1.5'], '--long-fraction'],
  [['--seed', '1.5'], '--seed'],
  [['--requests', '0'], '--requests'],
  [['--policies', 'best'], 'unknown policy'],
  [['--gpu', 'abacus'], 'unknown gpu'],
  [['--model', 'eliza'], 'unknown model'],
  [['--arrivals', 'never'], '--arrivals'],
  [['--lengths', 'long'], '--lengths'],
  [['--mix', 't2t'], '--mix'],
  [['--mix', 'v2v=1'], 'v2v'],
  [['--set', 'shared.slot=1'], 'shared.slot'],
  [['--trace', join(folder, 'none.csv')], 'none.csv'],
  [['--minutes', '5'], '--minutes'],
  [['--skip-bad'], '--skip-bad'],
  [['--trace', TRACE, '--cv', '3'], '--cv'],
  [['--unknown-option'], 'unknown option'],
])('wrong arguments are bad input: %j', async (argv, text) => {
  const { code, err, out } = await cli('simulate', '--requests', '5', ...argv)
  expect(code).toBe(EXIT.badInput)
  expect(err).toContain(text)
  expect(out).toBe('')
})

test('report names what is wrong with its input', async () => {
  // A demo that was run here before may have left one.
  const wasThere = existsSync('horizonserve-report.html')
  const path = join(folder, 'broken.json')
  writeFileSync(path, '{"kind": 3}')
  expect((await cli('report', path)).err).toContain('broken.json.kind')
  writeFileSync(path, '{')
  expect((await cli('report', path)).err).toContain('not valid JSON')
  expect((await cli('report', join(folder, 'none.json'))).code).toBe(EXIT.badInput)
  expect((await cli('report')).code).toBe(EXIT.badInput)
  expect(existsSync('horizonserve-report.html')).toBe(wasThere)
})

test.each(['simulate', 'report'])('%s --help exits with 0', async (name) => {
  const { code, out } = await cli(name, '--help')
  expect(code).toBe(EXIT.ok)
  expect(out).toContain('Usage')
})

test('a report that cannot be written is refused before anything is simulated', async () => {
  const path = join(folder, 'no', 'such', 'folder', 'report.html')
  // A rate that would take for ever, were it begun.
  const { code, err } = await cli('simulate', '--requests', '10000000', '--report', path)
  expect(code).toBe(EXIT.badInput)
  expect(err).toContain('ERR_CLI_WRITE')
  expect((await cli('simulate', '--requests', '10000000', '--report', folder)).err).toContain(
    'it is a folder',
  )
})

test('a trace takes its options; what looks wrong about it is said beside the result', async () => {
  const path = join(folder, 'seconds.jsonl')
  const row = (t: string) => `{"timestamp": ${t}, "input_length": 9, "output_length": 4}`
  writeFileSync(path, [row('5.0'), row('3.5'), row('9.0')].join('\n'))
  const common = ['simulate', ...MODEL, '--trace', path, '--policies', 'edf', '--json', '--sort']
  const doubtful = await cli(...common)
  expect(doubtful.err).toContain('warning: seconds.jsonl')
  expect(JSON.parse(doubtful.out).workload.notes.join()).toContain('--time-unit')
  const sure = await cli(...common, '--time-unit', 's', '--requests', '2')
  expect([sure.code, sure.err]).toEqual([EXIT.ok, ''])
  expect(JSON.parse(sure.out).workload.requests).toBe(2)
  expect((await cli(...common, '--time-unit', 'h')).code).toBe(EXIT.badInput)
  expect((await cli('simulate', '--sort')).err).toContain('--sort')
})
