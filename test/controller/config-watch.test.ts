import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type ConfigWatch, watchConfig } from '../../src/controller/config-watch.js'

let watch: ConfigWatch | undefined
afterEach(() => watch?.close())

/** A watch whose changes can be awaited one after the other. */
function watched(file: string): {
  changes: () => number
  change: () => Promise<void>
  missing: () => number
} {
  let changes = 0
  let missing = 0
  let waiting: (() => void)[] = []
  watch = watchConfig(file, {
    everyMs: 5,
    async onChange() {
      changes += 1
      for (const go of waiting) go()
      waiting = []
    },
    onMissing: () => {
      missing += 1
    },
  })
  return {
    changes: () => changes,
    change: () => new Promise((resolve) => waiting.push(resolve)),
    missing: () => missing,
  }
}

function folder(): string {
  return mkdtempSync(join(tmpdir(), 'config-watch-'))
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe('a configuration watch', () => {
  it('follows the name through writes and renames, again and again', async () => {
    const file = join(folder(), 'horizon.yaml')
    writeFileSync(file, '0')
    const seen = watched(file)
    for (let i = 1; i <= 20; i++) {
      const next = seen.change()
      if (i % 2 === 0) writeFileSync(file, `written ${i}`)
      else {
        writeFileSync(`${file}.new`, `renamed ${i}`)
        renameSync(`${file}.new`, file)
      }
      await next
    }
    expect(seen.missing()).toBe(0)
  })

  it('follows the links of a ConfigMap', async () => {
    const at = folder()
    for (const version of ['v1', 'v2']) {
      mkdirSync(join(at, version))
      writeFileSync(join(at, version, 'horizon.yaml'), version)
    }
    symlinkSync('v1', join(at, '..data'))
    symlinkSync('..data/horizon.yaml', join(at, 'horizon.yaml'))
    const seen = watched(join(at, 'horizon.yaml'))
    for (const version of ['v2', 'v1', 'v2']) {
      const next = seen.change()
      symlinkSync(version, join(at, '..data_tmp'))
      renameSync(join(at, '..data_tmp'), join(at, '..data'))
      await next
    }
  })

  it('says once that the file is gone, and takes its return as a change', async () => {
    const file = join(folder(), 'horizon.yaml')
    writeFileSync(file, 'one')
    const seen = watched(file)
    unlinkSync(file)
    while (seen.missing() === 0) await wait(5)
    await wait(30)
    expect(seen.missing()).toBe(1)
    const next = seen.change()
    writeFileSync(file, 'one')
    await next
    rmSync(file)
    while (seen.missing() === 1) await wait(5)
  })

  it('never overlaps, and ends with what stands there last', async () => {
    const file = join(folder(), 'horizon.yaml')
    writeFileSync(file, '0')
    let running = 0
    let most = 0
    let calls = 0
    watch = watchConfig(file, {
      everyMs: 2,
      async onChange() {
        calls += 1
        running += 1
        most = Math.max(most, running)
        await wait(10)
        running -= 1
      },
      onMissing: () => {},
    })
    for (let i = 0; i < 1000; i++) {
      writeFileSync(`${file}.new`, `${i}`)
      renameSync(`${file}.new`, file)
      if (i % 20 === 0) await wait(1)
    }
    const during = calls
    // The last edit is taken up however busy the one before was.
    while (calls === during || running > 0) await wait(5)
    expect(most).toBe(1)
    expect(calls).toBeLessThan(1000)
  })

  it('takes an unchanged file as changed when told to', async () => {
    const file = join(folder(), 'horizon.yaml')
    writeFileSync(file, '0')
    const seen = watched(file)
    const next = seen.change()
    watch!.now()
    await next
    expect(seen.changes()).toBe(1)
  })
})
