/**
 * @module
 * The ledger with its journal under a lock: the one way to make something true. An event is tried on the ledger first, so
 * that what it refuses never reaches the file; it counts once it is on the disk.
 */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { HorizonError } from '../../core/errors.js'
import { containedPath } from './contained-path.js'
import type { LoopEvent } from './events.js'
import { openJournal } from './journal.js'
import { foldJournal, foldLine } from './ledger.js'
import type { Ledger } from './ledger-state.js'
import { takeLock } from './lock.js'
import type { LoopProject } from './loop-project.js'

export interface LedgerWriter {
  ledger(): Ledger
  record(event: LoopEvent): void
  close(): void
}

/** Names of the files in a loop's folder. */
export const JOURNAL_FILE = 'journal.jsonl'
const LOCK_FILE = 'journal.lock'

/** Opens or begins the loop in the project's folder. */
export function openLedger(project: LoopProject): LedgerWriter {
  const { root, folder } = project
  mkdirSync(root === undefined ? folder : containedPath(root, folder, 'folder'), {
    recursive: true,
  })
  const unlock = takeLock(join(project.folder, LOCK_FILE))
  try {
    const { journal, lines } = openJournal(join(project.folder, JOURNAL_FILE))
    const { name, gates, budget } = project
    const fixed = fixedDigest(project)
    let ledger: Ledger
    try {
      ledger =
        foldJournal(lines) ??
        foldLine(
          undefined,
          journal.append({ event: 'opened', format: 2, name, gates, budget, fixed }),
        )
      requireSame(ledger, project, fixed)
    } catch (error) {
      journal.close()
      throw error
    }
    return {
      ledger: () => ledger,
      record: (event) => {
        const next = foldLine(ledger, { line: ledger.lines + 1, event, sum: '' })
        ledger = { ...next, head: journal.append(event).sum }
      },
      close: () => {
        journal.close()
        unlock()
      },
    }
  } catch (error) {
    unlock()
    throw error
  }
}

/** Whoever loosens a tolerance or swaps the inputs half-way starts another loop. */
function requireSame(ledger: Ledger, project: LoopProject, fixed: string): void {
  const changed =
    ledger.fixed !== fixed
      ? 'inputs, tolerances or reference'
      : JSON.stringify(ledger.gates) !== JSON.stringify(project.gates)
        ? 'gates'
        : undefined
  if (changed === undefined) return
  throw new HorizonError(
    'ERR_DEPLOY_LOOP_CHANGED',
    `the project's ${changed} are not those the loop began with`,
    {
      field: join(project.folder, JOURNAL_FILE),
      expected: 'what was declared before the first measurement',
      hint:
        ledger.runsDriven === 0
          ? `Nothing was measured yet: remove ${project.folder} and begin again, or put them back`
          : 'Put them back, or begin a new loop in another folder: verdicts of two declarations do not mix',
    },
  )
}

function fixedDigest(project: LoopProject): string {
  const { verifyScript, measureScript, tolerances, warmUpRuns, coolDownMs, referenceDigest } =
    project
  const mediaMsPerOutput = project.mediaMsPerOutput ?? null
  return createHash('sha256')
    .update(
      JSON.stringify([
        verifyScript,
        measureScript,
        tolerances,
        warmUpRuns,
        coolDownMs,
        referenceDigest,
        mediaMsPerOutput,
      ]),
    )
    .digest('hex')
}
