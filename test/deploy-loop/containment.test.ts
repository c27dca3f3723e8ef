import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { containedPath, isInside } from '../../src/deploy/loop/contained-path.js'
import { takeLock } from '../../src/deploy/loop/lock.js'
import { digestOf, makeWorkspace } from '../../src/deploy/loop/workspace.js'
import { fitAnswer, MAX_ANSWER_BYTES } from '../../src/deploy/mcp/fit-answer.js'
import { temporaryFolder } from './support/temporary-folder.js'

describe('paths of a project', () => {
  it('lead nowhere outside it, whatever they are made of', () => {
    const root = join(temporaryFolder(), 'project')
    mkdirSync(join(root, 'a', 'b'), { recursive: true })
    symlinkSync('..', join(root, 'a', 'up'))
    symlinkSync('../..', join(root, 'a', 'out'))
    symlinkSync('/', join(root, 'slash'))
    symlinkSync('round', join(root, 'round'))
    const part = fc.constantFrom(
      'a',
      'b',
      'up',
      'out',
      'slash',
      'round',
      '..',
      '.',
      '',
      'new',
      'etc',
      '~',
      '..\\..',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.boolean(), (parts, absolute) => {
        const path = (absolute ? '/' : '') + parts.join('/')
        let resolved: string
        try {
          resolved = containedPath(root, path, 'test')
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_DEPLOY_LOOP_PATH' })
          return
        }
        expect(isInside(root, resolved)).toBe(true)
        // What is there now is inside too, links followed.
        if (existsSync(resolved)) expect(() => containedPath(root, resolved, 'again')).not.toThrow()
        expect(path.startsWith('/etc')).toBe(false)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a workspace', () => {
  it('has a digest of its names and contents, scratch left out', () => {
    const folder = temporaryFolder()
    const template = join(folder, 'template')
    mkdirSync(join(template, 'sub'), { recursive: true })
    writeFileSync(join(template, 'sub', 'x'), '1')
    const workspace = makeWorkspace(folder, 'v1', template)
    expect(digestOf(workspace)).toBe(digestOf(template))
    mkdirSync(join(workspace, 'out'))
    writeFileSync(join(workspace, 'out', 'log'), 'anything')
    expect(digestOf(workspace)).toBe(digestOf(template))
    writeFileSync(join(workspace, 'sub', 'x'), '2')
    expect(digestOf(workspace)).not.toBe(digestOf(template))
    // Made again, it is left as it is: the work in it is somebody's.
    makeWorkspace(folder, 'v1', template)
    expect(readFileSync(join(workspace, 'sub', 'x'), 'utf8')).toBe('2')
  })

  it('holds no links, which could change what was verified from elsewhere', () => {
    const folder = temporaryFolder()
    const template = join(folder, 'template')
    mkdirSync(template)
    symlinkSync('/etc/hostname', join(template, 'link'))
    expect(() => makeWorkspace(folder, 'v1', template)).toThrow(/plain files only.*link/)
    expect(existsSync(join(folder, 'v1'))).toBe(false)
  })
})

describe('the lock', () => {
  it('is taken over from a process that is gone, and from what is no lock', () => {
    const file = join(temporaryFolder(), 'lock')
    for (const left of [
      '{"pid":999999999,"started":"1"}',
      `{"pid":${process.pid},"started":"0"}`,
      '',
      'x',
      '{"pid":-1}',
      'null',
    ]) {
      writeFileSync(file, left)
      const release = takeLock(file)
      expect(() => takeLock(file)).toThrow(/another process works on this project/)
      release()
      expect(existsSync(file)).toBe(false)
    }
  })
})

describe('an answer', () => {
  it('fits its bytes whatever is in it, and its pages make up the whole', () => {
    const value = fc.oneof(
      fc.string({ maxLength: 3000 }),
      fc.integer(),
      fc.record({ a: fc.string({ unit: 'grapheme', maxLength: 500 }) }),
    )
    fc.assert(
      fc.property(fc.array(value, { maxLength: 60 }), (items) => {
        let from = 0
        for (let pages = 0; ; pages++) {
          expect(pages).toBeLessThanOrEqual(items.length)
          const result = fitAnswer({ body: { items, total: items.length }, paged: 'items', from })
          expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(MAX_ANSWER_BYTES)
          if (result.isError === true) return
          const body = result.structuredContent as { items: unknown[]; nextCursor?: string }
          from += body.items.length
          if (body.nextCursor === undefined) break
          expect(Number(body.nextCursor)).toBe(from)
        }
        expect(from).toBe(items.length)
      }),
      { numRuns: 60 },
    )
  })

  it('is an error that says how to ask for less where nothing fits', () => {
    const body = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`key${i}`, 'x']))
    const result = fitAnswer({ body })
    expect(result.isError).toBe(true)
    expect(result.content[0]!.text).toMatch(/ask for one item/)
  })
})
