/** Every command of docs/operate.md, run by the shell in its order against the built program; runs are shortened to 3 s. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { parseLoadResult } from '../../src/live/index.js'
import { freshDist } from '../support/fresh-dist.js'

beforeAll(freshDist)

const page = readFileSync('docs/operate.md', 'utf8')
const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] as string)

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

it('the guide has its commands', () => {
  expect(blocks).toHaveLength(4)
  expect(blocks[0]?.trim().split('\n')).toHaveLength(5)
})

it('every command of the guide runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'operate-'))
  const program = join(folder, 'horizonserve')
  writeFileSync(
    program,
    `#!/bin/sh\nexec "${process.execPath}" "${resolve('dist/cli/main.js')}" "$@"\n`,
  )
  chmodSync(program, 0o755)
  const yaml = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] as string
  writeFileSync(join(folder, 'classes.yaml'), yaml)
  const [first, twin, load, classes] = blocks as [string, string, string, string]
  // A second twin on the same port comes after the first two are gone, as the guide says.
  const script = [
    first,
    'kill %1 %2; wait',
    twin.replace(
      'curl',
      'horizonserve load http://127.0.0.1:8091 --seconds 3 --json > ready.json\ncurl',
    ),
    load,
    `${classes.trim()} > classes.json`,
    'kill $(jobs -p); wait',
  ]
    .join('\n')
    .replaceAll(/--seconds \d+/g, '--seconds 3')
    .replaceAll('8091', String(await freePort()))
    .replaceAll('8092', String(await freePort()))
  const { stdout, stderr } = spawnSync('bash', ['-c', `set -m\n${script}`], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
    timeout: 280_000,
  })
  expect(stderr).not.toContain('ERR_')
  for (const name of ['vanilla', 'ours', 'classes']) {
    const file = join(folder, `${name}.json`)
    const result = parseLoadResult(JSON.parse(readFileSync(file, 'utf8')), name)
    expect(result.scheduled).toBeGreaterThan(0)
    expect(result.failed + result.rejected + result.undetermined).toBe(0)
  }
  const html = readFileSync(join(folder, 'compare.html'), 'utf8')
  expect(html).toContain('Load: vanilla and ours')
  expect(existsSync(join(folder, 'load.html'))).toBe(true)
  const lines = readFileSync(join(folder, 'requests.jsonl'), 'utf8').trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).outcome).length).toBeGreaterThan(0)
  expect(stdout).toContain('"name":"speech"')
  expect(stdout).toContain('vllm_omni:num_requests_waiting')
  expect(stdout).toContain('"modality":"audio"')
}, 300_000)
