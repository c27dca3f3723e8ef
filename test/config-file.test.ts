import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHorizonFromFile, loadConfig, readConfig } from '../src/config-file.js'
import { HorizonError } from '../src/core/errors.js'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'horizon-config-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

async function errorOf(name: string, text: string, environment = {}): Promise<HorizonError> {
  const path = await write(name, text)
  const error = await loadConfig(path, environment).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof HorizonError)) throw new Error(`expected a HorizonError, got ${error}`)
  return error
}

const YAML = `# two classes
classes:
  chat: { output: text, sloMs: 400 }
  speech:
    output: audio
    soloP95Ms: 800
profile:
  chat: { shared: { promptTokens: [[0, 15], [4000, 160]] } }
  speech:
    shared: { fixedMs: 40 }
    downstream: { fixedMs: 450 }
`

test('YAML and JSON say the same, and the environment has the last word', async () => {
  const yaml = await loadConfig(await write('a.yaml', YAML), {})
  const config = await readConfig(await write('b.yml', YAML), {})
  const json = await loadConfig(await write('a.json', JSON.stringify(config)), {})
  expect(json.classes).toEqual(yaml.classes)
  expect(yaml.classes[1]).toEqual({ name: 'speech', path: 'long', sloMs: 4000, priority: 10 })
  const overridden = await loadConfig(await write('c.yaml', YAML), { HORIZON_SLO_MS_CHAT: '500' })
  expect(overridden.classes[0]!.sloMs).toBe(500)
  const horizon = await createHorizonFromFile(await write('d.yaml', YAML), {})
  horizon.arrive({ class: 'chat' }, 0)
  expect([...horizon.step(1).view]).toHaveLength(1)
})

test('a syntax error names its line and column', async () => {
  const error = await errorOf('broken.yaml', 'classes:\n  chat: { output: text\nprofile: {}\n')
  expect(error.code).toBe('ERR_CONFIG_FILE')
  expect(error.field).toMatch(/broken\.yaml:[23]:\d+$/)
})

test('a key given twice names its line', async () => {
  const error = await errorOf('twice.yaml', 'classes: {}\nprofile: {}\nclasses: {}\n')
  expect(error.field).toMatch(/twice\.yaml:3:1$/)
})

test('a bomb of aliases is refused', async () => {
  const rows = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
  for (let k = 1; k < 9; k++) rows.push(`a${k}: &a${k} [${`*a${k - 1}, `.repeat(9)}]`)
  const error = await errorOf('bomb.yaml', `${rows.join('\n')}\nclasses: *a8\nprofile: {}\n`)
  expect(error.code).toBe('ERR_CONFIG_FILE')
  expect(error.message).toMatch(/alias/i)
})

test('ordinary anchors are fine', async () => {
  const anchored = YAML.replace(
    '{ output: text, sloMs: 400 }',
    '&chat { output: text, sloMs: 400 }',
  )
    .replace('  speech:\n    output', '  other: *chat\n  speech:\n    output')
    .replace('  speech:\n    shared', '  other: { shared: { fixedMs: 5 } }\n  speech:\n    shared')
  const { classes } = await loadConfig(await write('anchors.yaml', anchored), {})
  expect(classes.map(({ name }) => name)).toEqual(['chat', 'other', 'speech'])
})

test.each([
  ['broken.json', '{ "classes": '],
  ['list.yaml', '- 1\n- 2\n'],
  ['text.yaml', 'hello'],
  ['empty.yaml', ''],
  ['two.yaml', 'classes: {}\n---\nclasses: {}\n'],
  ['number.json', '5'],
])('%s is no configuration', async (name, text) => {
  const error = await errorOf(name, text)
  expect(error.code).toBe('ERR_CONFIG_FILE')
  expect(error.field).toContain(name)
})

test('a file that is not there', async () => {
  const error = await loadConfig(join(folder, 'nowhere.yaml'), {}).catch(
    (reason: unknown) => reason,
  )
  expect(error).toMatchObject({ code: 'ERR_CONFIG_FILE', hint: expect.stringContaining('ENOENT') })
})

test('a class that is no record is refused by name, also under an override of it', async () => {
  const text = YAML.replace('{ output: text, sloMs: 400 }', 'null')
  for (const environment of [{}, { HORIZON_SLO_MS_CHAT: '5' }]) {
    const error = await errorOf('null.yaml', text, environment)
    expect([error.code, error.field]).toEqual(['ERR_CONFIG_INVALID', 'classes.chat'])
  }
})

test('a wrong field of a file is named', async () => {
  const error = await errorOf('wrong.yaml', `${YAML}uGuard: -1\n`)
  expect([error.code, error.field, error.got]).toEqual(['ERR_CONFIG_INVALID', 'uGuard', -1])
})
