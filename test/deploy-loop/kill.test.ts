import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'tsup'
import { describe, expect, it } from 'vitest'
import { type JournalLine, readJournal } from '../../src/deploy/loop/journal.js'
import { foldJournal } from '../../src/deploy/loop/ledger.js'
import { SETTLED, type VariantState } from '../../src/deploy/loop/variant.js'
import { seededRandom } from '../../src/deploy/seeded-random.js'
import { runs } from '../support/runs.js'
import { temporaryFolder } from './support/temporary-folder.js'

/** The child as one plain file: started hundreds of times, it must not compile itself each time. */
async function bundleChild(folder: string): Promise<string> {
  await build({
    entry: { 'loop-child': new URL('./support/loop-child.ts', import.meta.url).pathname },
    outDir: folder,
    format: ['esm'],
    platform: 'node',
    outExtension: () => ({ js: '.mjs' }),
    noExternal: [/.*/],
    config: false,
    silent: true,
    dts: false,
  })
  return join(folder, 'loop-child.mjs')
}

/** What a child said before it was killed; its last line may be cut. */
async function runAndKill(
  program: string,
  root: string,
  when: { readonly lines: number; readonly delayMs: number },
): Promise<string[]> {
  const child = spawn(process.execPath, [program, root], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let errors = ''
  let armed = false
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  await new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      // Counted in progress first, so that a slow machine is not always killed at the start.
      if (armed || said.split('\n').length <= when.lines) return
      armed = true
      setTimeout(() => child.kill('SIGKILL'), when.delayMs)
    })
    child.once('close', () => resolve())
  })
  expect(errors).toBe('')
  return said.split('\n').slice(0, -1)
}

/** What the children said so far, by `folder/variant`. */
interface Said {
  readonly told: Map<string, string>
  readonly intended: Set<string>
}

function listen(lines: readonly string[], said: Said): void {
  let folder = ''
  for (const line of lines) {
    const [word, id] = line.split(' ') as [string, string]
    if (word === 'open') folder = id
    else if (word === 'intent') said.intended.add(`${folder}/${id}`)
    else said.told.set(`${folder}/${id}`, word)
  }
}

/** Checks a journal against what was said; returns its accepted variants. Folding repeats every verdict from its runs. */
function acceptedIn(name: string, lines: readonly JournalLine[], said: Said): string[] {
  const accepted: string[] = []
  for (const [id, record] of foldJournal(lines)?.variants ?? []) {
    const { state } = record.variant
    const word = said.told.get(`${name}/${id}`)
    // Settled states are final, so what a child was told must be what stands.
    if (word !== undefined && SETTLED.includes(word as VariantState)) expect(state).toBe(word)
    if (state !== 'accepted') continue
    expect(said.intended).toContain(`${name}/${id}`)
    expect(record.point).not.toBeNull()
    accepted.push(id)
  }
  return accepted
}

describe('kill -9 at any instant', () => {
  it('loses no accepted variant and invents none', async () => {
    const root = temporaryFolder()
    const program = await bundleChild(temporaryFolder())
    const random = seededRandom('kill')
    const said: Said = { told: new Map(), intended: new Set() }
    const seen = new Map<string, { lines: readonly JournalLine[]; accepted: readonly string[] }>()
    const kills = runs(15, 520)
    for (let kill = 0; kill < kills; kill++) {
      const when = { lines: 1 + random.below(8), delayMs: random.uniform() * 80 }
      listen(await runAndKill(program, root, when), said)
      for (const name of readdirSync(root)) {
        const file = join(root, name, 'loop', 'journal.jsonl')
        if (!existsSync(file)) continue
        const lines = readJournal(file)
        const earlier = seen.get(name)
        if (earlier?.lines.length === lines.length) continue
        // History only grows: whatever was on the disk at an earlier kill is still there, line for line.
        expect(lines.slice(0, earlier?.lines.length ?? 0)).toEqual(earlier?.lines ?? [])
        const accepted = acceptedIn(name, lines, said)
        for (const id of earlier?.accepted ?? []) expect(accepted).toContain(id)
        seen.set(name, { lines, accepted })
      }
    }
    const numLines = [...seen.values()].reduce((sum, { lines }) => sum + lines.length, 0)
    const numAccepted = [...seen.values()].reduce((sum, { accepted }) => sum + accepted.length, 0)
    console.log(`${kills} kills, ${numLines} journal lines, ${numAccepted} accepted variants stand`)
    expect(numAccepted).toBeGreaterThan(0)
  }, 3_600_000)
})
