import type { Reporter, TestModule } from 'vitest/node'

/**
 * Ends a run with one plain line, `412 passed, 0 failed, 3 skipped`, that scripts and CI read.
 * A module that fails to load counts as one failure: it has no tests of its own to count.
 */
// biome-ignore lint/style/noDefaultExport: vitest loads reporters by their default export
export default class PlainSummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0
    let failed = unhandledErrors.length
    let skipped = 0
    for (const module of modules) {
      let failedHere = 0
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        else if (state === 'failed') failedHere += 1
        else skipped += 1
      }
      if (failedHere === 0 && module.state() === 'failed') failedHere = 1
      failed += failedHere
    }
    const tail = skipped > 0 ? `, ${skipped} skipped` : ''
    process.stdout.write(`\n${passed} passed, ${failed} failed${tail}\n`)
  }
}
