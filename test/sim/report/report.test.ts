import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { expect, test } from 'vitest'
import { readChartLibrary } from '../../../src/cli/chart-library.js'
import { POLICY_CASES } from '../../../src/sim/policy-case.js'
import { buildReportData } from '../../../src/sim/report/build-report-data.js'
import { renderReport } from '../../../src/sim/report/render-report.js'
import { parseReportData, type ReportData } from '../../../src/sim/report/report-data.js'
import { duration } from '../../../src/sim/report/tables.js'
import { simulate } from '../../../src/sim/simulate.js'
import { CHROMIUM_ARGS, chromiumPath } from '../../support/chromium.js'
import { smallSimulation } from '../../support/simulated.js'

function sample(): ReportData {
  const { spec, workload, calibration } = smallSimulation({ requests: 60, rate: 0.6 })
  const runs = POLICY_CASES.map((of) => ({
    of,
    result: simulate({ runtime: spec, workload, policy: of, calibration }),
  }))
  return buildReportData({ spec, workload, seed: 1, calibration, runs })
}

test('the data survive JSON, and a wrong field is named', () => {
  const data = sample()
  expect(parseReportData(JSON.parse(JSON.stringify(data)), 'r')).toEqual(data)
  expect(() => parseReportData({}, 'r')).toThrow('r.kind')
  expect(() => parseReportData({ ...data, policies: [] }, 'r')).toThrow('r.policies')
  const broken = structuredClone(data) as { policies: { steps: unknown }[] }
  if (broken.policies[0]) broken.policies[0].steps = 'many'
  expect(() => parseReportData(broken, 'r')).toThrow('r.policies.0.steps')
})

test('one file: no address to fetch, a table beside every chart, outside text escaped', () => {
  const data = sample()
  data.workload.name = '<img src=x onerror=alert(1)> & "co" </script>'
  const html = renderReport(data, '/* no library */')
  expect(html).not.toMatch(/(src|href)\s*=\s*["']?(https?:)?\/\//)
  expect(html).not.toContain('<img')
  expect(html).toContain("default-src 'none'")
  const count = (pattern: RegExp): number => html.match(pattern)?.length ?? 0
  expect(count(/<canvas/g)).toBeGreaterThanOrEqual(13)
  expect(count(/<canvas[^>]*aria-label=/g)).toBe(count(/<canvas/g))
  expect(count(/<table>/g)).toBeGreaterThanOrEqual(count(/<canvas/g))
  expect(html).toContain('simulated')
})

test('durations read as people write them', () => {
  expect([duration(0.1234), duration(950), duration(1500), duration(900_000)]).toEqual([
    '0.123 ms',
    '950 ms',
    '1.5 s',
    '15 min',
  ])
  expect(duration(null)).toBe('–')
})

const missing = chromiumPath === undefined
test.skipIf(missing).each(['light', 'dark'] as const)(
  'Chromium draws every chart in a %s theme, offline and without an error (skipped where none is installed)',
  async (colorScheme) => {
    const folder = mkdtempSync(join(tmpdir(), 'horizonserve-report-'))
    const path = join(folder, 'report.html')
    writeFileSync(path, renderReport(sample(), readChartLibrary()))
    const context = await chromium.launchPersistentContext(join(folder, 'profile'), {
      executablePath: chromiumPath as string,
      args: CHROMIUM_ARGS,
      colorScheme,
      offline: true,
      viewport: { width: 400, height: 800 },
    })
    try {
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => complaints.push(message.text()))
      page.on('request', (request) => {
        if (!request.url().startsWith('file:')) complaints.push(request.url())
      })
      await page.goto(`file://${path}`)
      await page.waitForSelector('html[data-drawn]')
      // The function runs in the page, whose globals this project has no types for.
      const seen = (await page.evaluate(`({
        canvases: document.querySelectorAll('canvas').length,
        drawn: Number(document.documentElement.dataset.drawn),
        blank: [...document.querySelectorAll('canvas')].filter((c) =>
          !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0)).length,
        ground: getComputedStyle(document.body).backgroundColor,
        tooWide: document.documentElement.scrollWidth > innerWidth,
      })`)) as Record<string, unknown>
      expect(complaints).toEqual([])
      expect(seen.drawn).toBe(seen.canvases)
      expect(seen.blank).toBe(0)
      expect(seen.tooWide).toBe(false)
      expect(seen.ground).toBe(colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(20, 23, 28)')
    } finally {
      await context.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
