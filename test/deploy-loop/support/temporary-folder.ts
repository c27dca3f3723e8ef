import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder that goes with the test, or with the file (`afterAll`). */
export function temporaryFolder(after: (clean: () => void) => void = onTestFinished): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'horizonserve-loop-')))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
