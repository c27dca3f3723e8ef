/**
 * What comes from outside the loop and means no good: programs that are silent, flood, or talk nonsense, outputs made to look
 * equal, links put where the loop writes.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { firstDifference } from '../../src/deploy/harness/compare.js'
import { drive, measureRun } from '../../src/deploy/harness/drive.js'
import { jsonLinesBackend } from '../../src/deploy/harness/json-lines-backend.js'
import { nodeProgram } from '../../src/deploy/interpreter/node-program.js'
import { openLoop } from '../../src/deploy/loop/measured-loop.js'
import { readLoopFile, readProjectPipeline } from '../../src/deploy/loop/read-loop-project.js'
import { writeInside } from '../../src/deploy/loop/write-inside.js'
import { failure, MAX_ANSWER_BYTES } from '../../src/deploy/mcp/fit-answer.js'
import { loopProject } from './support/loop-project.js'
import { temporaryFolder } from './support/temporary-folder.js'

const program = (source: string): [string, ...string[]] => [
  process.execPath,
  '--input-type=module',
  '-e',
  source,
]
const ASK = [{ inputs: [{ atMs: 0, value: 1 }] }]
/** Ready, then `onEnd` for every request that is complete. */
const server = (onEnd: string) => `
import { createInterface } from 'node:readline'
console.log(JSON.stringify({ ready: true }))
for await (const line of createInterface({ input: process.stdin })) {
  const { id, end } = JSON.parse(line)
  if (end) { ${onEnd} }
}
`

describe('a backend that means no good', () => {
  it('is given up when it stays silent, and can still be closed', async () => {
    const session = await jsonLinesBackend('silent', {
      command: program(server('')),
      idleMs: 200,
    }).open()
    await expect(drive(session, ASK)).rejects.toThrow(/no output and no end for 200 ms/)
    await session.close()
  })

  it('is cut off when it floods', async () => {
    const flood = `const lines = Array.from({ length: 1000 }, () => JSON.stringify({ id, output: 0 })).join('\\n')
      const more = () => process.stdout.write(lines + '\\n', more)
      more()`
    const session = await jsonLinesBackend('flood', { command: program(server(flood)) }).open()
    await expect(drive(session, ASK)).rejects.toThrow(/more than 100000 outputs/)
    await session.close()
  })

  it('ends also when a process it left behind holds its pipes', async () => {
    const orphan = `
      import { spawn } from 'node:child_process'
      spawn(process.execPath, ['-e', 'setTimeout(() => {}, 30000)'], { stdio: 'inherit', detached: true }).unref()
      ${server('console.log(JSON.stringify({ id, output: process.pid })); console.log(JSON.stringify({ id, done: true }))')}
      setInterval(() => {}, 1000)
    `
    const session = await jsonLinesBackend('orphan', { command: program(orphan) }).open()
    expect(await drive(session, ASK)).toHaveLength(1)
    await session.close()
  })

  it('cannot crash the interpreter by talking nonsense, nor stop it by silence', async () => {
    const nonsense = ['null', '5', '"x"', '[]', '{"id":null}', '{"id":1e9,"result":1}']
    const nodes = nodeProgram({
      command: program(
        `for (const line of ${JSON.stringify(nonsense)}) console.log(line); process.stdin.resume()`,
      ),
      idleMs: 300,
    })
    const call = { path: 'a', batch: 0, input: 1, inputs: {}, state: {} }
    await expect(nodes.call(call)).rejects.toThrow(/no answer from the node program for 300 ms/)
    await nodes.close()
  })
})

describe('outputs made to look equal', () => {
  it('are compared by their own keys', () => {
    const hidden = JSON.parse('{"__proto__": {}}') as object
    expect(firstDifference([hidden], [{}])).toBeDefined()
    expect(firstDifference([{}], [hidden])).toBeDefined()
    expect(firstDifference([{}], [{ constructor: 1 }])).toMatchObject({ expected: 'nothing' })
    expect(firstDifference([hidden], [JSON.parse('{"__proto__": {}}')])).toBeUndefined()
  })

  it('are refused when they nest to the end of the stack', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown
    expect(firstDifference([deep], [deep])).toMatchObject({ got: 'deeper nesting' })
  })

  it('give finite figures also when they come before their input was due', () => {
    const early = { readyMs: 40, lateMs: 0, outputs: [{ atMs: 10, value: 0 }] }
    expect(measureRun([early])).toEqual({ firstOutputMs: [0], gapMs: [], ratePerSec: [1e6] })
  })
})

describe('links where the loop writes', () => {
  it('are not followed by the journal, the lock or the workspaces', async () => {
    const root = temporaryFolder()
    const elsewhere = join(root, 'elsewhere')
    mkdirSync(elsewhere)
    writeFileSync(join(elsewhere, 'mine.txt'), 'mine\n')
    const made = { ...(await loopProject(join(root, 'project'))), root: join(root, 'project') }
    mkdirSync(made.folder)
    const opens = (): void => openLoop(made).close()

    symlinkSync(join(elsewhere, 'mine.txt'), join(made.folder, 'journal.jsonl'))
    expect(opens).toThrow(/leads out of the project/)
    rmSync(join(made.folder, 'journal.jsonl'))

    symlinkSync(join(elsewhere, 'mine.txt'), join(made.folder, `journal.lock.new-${process.pid}`))
    symlinkSync(elsewhere, join(made.folder, 'variants'))
    expect(opens).toThrow(/leads out of the project/)
    rmSync(join(made.folder, 'variants'))

    // Swapped while the loop is open.
    const loop = openLoop(made)
    loop.seed()
    renameSync(join(made.folder, 'variants'), join(made.folder, 'moved'))
    symlinkSync(elsewhere, join(made.folder, 'variants'))
    expect(() => loop.implement('stream-tts')).toThrow(/leads out of the project/)
    loop.close()
    expect(readdirSync(elsewhere)).toEqual(['mine.txt'])
    expect(readFileSync(join(elsewhere, 'mine.txt'), 'utf8')).toBe('mine\n')
  })

  it('are not followed by files that are written, and no different file is overwritten', () => {
    const root = join(temporaryFolder(), 'project')
    const elsewhere = join(root, '..', 'elsewhere')
    mkdirSync(root)
    mkdirSync(elsewhere)
    expect(writeInside(root, 'out/a.txt', 'a', 'folder')).toBe('written')
    expect(writeInside(root, 'out/a.txt', 'a', 'folder')).toBe('same')
    expect(writeInside(root, 'out/a.txt', 'b', 'folder')).toBe('different')
    expect(writeInside(root, 'out', 'b', 'folder')).toBe('different')
    symlinkSync(elsewhere, join(root, 'up'))
    expect(() => writeInside(root, 'up/b.txt', 'b', 'folder')).toThrow(/leads out/)
    symlinkSync(join(elsewhere, 'c.txt'), join(root, 'c.txt'))
    expect(() => writeInside(root, 'c.txt', 'c', 'folder')).toThrow(/leads out/)
    expect(readFileSync(join(root, 'out/a.txt'), 'utf8')).toBe('a')
    expect(readdirSync(elsewhere)).toEqual([])
  })
})

describe('files that are no files, and answers that grow', () => {
  it('are refused with what was expected', () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'loop.yaml'))
    expect(() => readLoopFile(root)).toThrow(/no file to read.*plain YAML file/)
    expect(() => readProjectPipeline(root, 'loop.yaml')).toThrow(/no file to read/)
    writeFileSync(join(root, 'big.yaml'), Buffer.alloc(2 ** 22 + 1, 0x20))
    expect(() => readProjectPipeline(root, 'big.yaml')).toThrow(/4194305 bytes/)
    expect(existsSync(join(root, 'deploy-loop'))).toBe(false)
  })

  it('fit their bytes as errors too, whatever the text is written in', () => {
    for (const text of ['\u0001'.repeat(5000), '\ud800'.repeat(5000), '"\\'.repeat(5000)]) {
      const bytes = Buffer.byteLength(JSON.stringify(failure(text)))
      expect(bytes).toBeLessThanOrEqual(MAX_ANSWER_BYTES)
      expect(bytes).toBeGreaterThan(1000)
    }
  })
})
