import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gateSchema } from '../../src/deploy/gate/declaration.js'
import type { LoopEvent } from '../../src/deploy/loop/events.js'
import { openJournal, readJournal } from '../../src/deploy/loop/journal.js'
import { foldJournal } from '../../src/deploy/loop/ledger.js'
import { openLoop } from '../../src/deploy/loop/measured-loop.js'
import { runs } from '../support/runs.js'
import { finding, loopProject, QUICK_GATE } from './support/loop-project.js'
import { temporaryFolder } from './support/temporary-folder.js'

/** The journal of a real loop: one variant accepted. */
let whole: Buffer
const shared = temporaryFolder(afterAll)

beforeAll(async () => {
  const project = await loopProject(shared, { findings: [finding('stream-tts')] })
  const loop = openLoop(project)
  loop.seed()
  loop.implement('stream-tts')
  await loop.verify('stream-tts')
  await loop.measure('stream-tts')
  loop.close()
  whole = readFileSync(join(project.folder, 'journal.jsonl'))
})

describe('the journal', () => {
  it('cut at any byte, reopens with the lines that were whole, and goes on', () => {
    const file = join(temporaryFolder(), 'journal.jsonl')
    writeFileSync(file, whole)
    const all = readJournal(file)
    const step = runs(101, 1)
    for (let length = 0; length <= whole.length; length += step) {
      writeFileSync(file, whole.subarray(0, length))
      const { journal, lines } = openJournal(file)
      expect(lines).toEqual(all.slice(0, lines.length))
      const next = all[lines.length]
      // Nothing whole is dropped: of the next line at least the last brace is missing.
      if (next !== undefined) expect(length).toBeLessThan(endOfLine(lines.length + 1) - 1)
      if (next !== undefined) journal.append(next.event)
      journal.close()
      expect(readJournal(file)).toEqual(all.slice(0, lines.length + 1))
    }
  })

  it('refuses a line that was changed, dropped, doubled or moved', () => {
    const file = join(temporaryFolder(), 'journal.jsonl')
    const lines = whole.toString().trimEnd().split('\n')
    const refuse = (changed: readonly string[]): void => {
      writeFileSync(file, `${changed.join('\n')}\n`)
      expect(() => readJournal(file)).toThrow(/the journal was changed or damaged/)
    }
    const pair = lines.findIndex((line) => line.includes('"event":"pair"'))
    refuse(lines.with(pair, lines[pair]!.replace('"firstOutputMs":[', '"firstOutputMs":[1')))
    refuse(lines.toSpliced(6, 1))
    refuse(lines.toSpliced(6, 0, lines[6]!))
    refuse([...lines.slice(0, 6), lines[7]!, lines[6]!, ...lines.slice(8)])
    refuse(lines.map((line, i) => (i === lines.length - 1 ? line.slice(0, -5) : line)))
  })

  it('refuses a verdict its runs do not give, however well the sums fit', () => {
    const events = readJournal(writeWhole()).map((line) => line.event)
    const forged = (change: (event: LoopEvent) => LoopEvent): string => {
      const file = join(temporaryFolder(), 'journal.jsonl')
      const { journal } = openJournal(file)
      for (const event of events) journal.append(change(event))
      journal.close()
      return file
    }
    expect(
      foldJournal(readJournal(forged((event) => event)))?.variants.get('stream-tts')?.variant.state,
    ).toBe('accepted')
    const noFaster = forged((event) =>
      event.event === 'pair' ? { ...event, candidate: event.baseline } : event,
    )
    expect(() => foldJournal(readJournal(noFaster))).toThrow(/cannot have happened/)
    const rosier = forged((event) =>
      event.event === 'accepted' ? { ...event, latencyMs: event.latencyMs / 2 } : event,
    )
    expect(() => foldJournal(readJournal(rosier))).toThrow(/cannot have happened/)
  })

  it('refuses an acceptance without its runs', () => {
    const file = join(temporaryFolder(), 'journal.jsonl')
    const { journal } = openJournal(file)
    const gate = gateSchema.parse(QUICK_GATE)
    const digest = 'a'.repeat(64)
    const events: LoopEvent[] = [
      {
        event: 'opened',
        format: 2,
        name: 'x',
        gates: { latency: gate, rate: gate, both: gate },
        budget: { runs: 9 },
        fixed: digest,
      },
      {
        event: 'proposed',
        variant: {
          id: 'v',
          title: 'v',
          finding: { id: 'f', rule: 'r', why: 'w' },
          bottleneck: 'b',
          target: 'latency',
          gpus: 1,
          against: 'reference',
          parts: [],
          source: 'agent',
          expectedGain: null,
        },
      },
      { event: 'implementing', id: 'v' },
      { event: 'verifying', id: 'v', digest },
      { event: 'verified', id: 'v', digest, requests: 1, outputs: 1 },
    ]
    for (const event of events) journal.append(event)
    expect(() => foldJournal(readJournal(file))).not.toThrow()
    journal.append({ event: 'accepted', id: 'v', latencyMs: 1, ratePerSec: 1 })
    journal.close()
    expect(() => foldJournal(readJournal(file))).toThrow(/the measurement is not that far/)
  })

  it('refuses to write behind another writer', () => {
    const file = writeWhole()
    const { journal } = openJournal(file)
    appendFileSync(file, '{"event":"accepted"}\n')
    expect(() => journal.append({ event: 'withdrawn', id: 'x', reason: 'y' })).toThrow(
      /somebody else wrote to the journal/,
    )
    journal.close()
  })
})

function writeWhole(): string {
  const file = join(temporaryFolder(), 'journal.jsonl')
  writeFileSync(file, whole)
  return file
}

/** Byte after the newline of line `number` (from 1). */
function endOfLine(number: number): number {
  let end = 0
  for (let i = 0; i < number; i++) end = whole.indexOf(0x0a, end) + 1
  return end
}
