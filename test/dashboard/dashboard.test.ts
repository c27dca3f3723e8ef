import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { afterEach, describe, expect, it } from 'vitest'
import { diffConfiguration } from '../../src/dashboard/configuration-diff.js'
import { createHistory, LANE_SAMPLES } from '../../src/dashboard/history.js'
import { createPictureTaker } from '../../src/dashboard/picture.js'
import {
  type Dashboard,
  type DashboardSource,
  EVERY_MS,
  serveDashboard,
} from '../../src/dashboard/serve-dashboard.js'
import { createHorizon } from '../../src/index.js'
import { CONFIG, serve } from '../record/random-serving.js'
import { CHROMIUM_ARGS, chromiumPath } from '../support/chromium.js'

let open: Dashboard | undefined
afterEach(async () => {
  await open?.close()
  open = undefined
})

/** A scheduler that is served a little at every picture. */
function liveSource(): DashboardSource & { changed: unknown[] } {
  const horizon = createHorizon(CONFIG)
  const takePicture = createPictureTaker(horizon)
  const clock = { nowMs: 0 }
  // One state machine per call would lose track of what runs: everything is served at once, then only looked at.
  serve(horizon, 600, 3, clock)
  horizon.step(clock.nowMs + 1, 0.6)
  const changed = diffConfiguration(CONFIG, { ...CONFIG, uGuard: 3 })
  return {
    title: 'a test <b>',
    changed,
    picture: () => takePicture(clock.nowMs + 2),
    health: () => [
      { name: 'engine', state: 'good', text: 'attached' },
      { name: 'stage 1', state: 'warn', text: 'silent for 4 s' },
    ],
    configuration: () => ({
      text: JSON.stringify(CONFIG, null, 2),
      reloadedAt: '2026-01-02T03:04:05.000Z',
      changed,
    }),
  }
}

describe('what a dashboard knows', () => {
  it('is a picture of the scheduler, in plain data', () => {
    const picture = liveSource().picture()!
    expect(JSON.parse(JSON.stringify(picture)).step).toBe(600)
    expect(picture.classes.map((c) => c.name)).toEqual(['chat', 'listen', 'speech'])
    for (const c of picture.classes) {
      expect(c.waiting).toBeGreaterThanOrEqual(c.protected + c.lost)
      expect(c.met).toBeLessThanOrEqual(c.responded)
      expect(c.recent.met).toBeLessThanOrEqual(c.recent.responded)
      expect(c.oldestWaitMs > 0).toBe(c.waiting > 0)
    }
    const counted = picture.view.reduce((sum, line) => sum + line.waiting, 0)
    expect(counted).toBe(picture.classes.reduce((sum, c) => sum + c.waiting, 0))
    for (const line of picture.view) expect(line.why === '').toBe(line.shown === 'all')
  })

  it('reaches back half an hour and a minute, no further', () => {
    const history = createHistory()
    const picture = liveSource().picture()!
    for (let k = 0; k < 30_000; k++) history.add(picture, k * EVERY_MS)
    expect(history.lanes).toHaveLength(LANE_SAMPLES)
    expect(history.spans).toHaveLength(180)
    expect(history.spans[0]!.atMs).toBe(30_000 * EVERY_MS - 180 * 10_000)
    expect(history.spans.at(-1)!.classes.chat!.responded).toBe(0)
  })

  it('counts what came in a span, and starts over with another scheduler', () => {
    const history = createHistory()
    const of = (responded: number, met: number) => {
      const picture = liveSource().picture()!
      const classes = [{ ...picture.classes[0]!, responded, met }]
      return { ...picture, classes }
    }
    history.add(of(10, 5), 1000)
    history.add(of(14, 8), 2000)
    expect(history.spans.at(-1)!.classes.chat).toMatchObject({ responded: 4, met: 3 })
    history.add(of(20, 12), 11_000)
    expect(history.spans.at(-1)!.classes.chat).toMatchObject({ responded: 6, met: 4 })
    history.add(of(2, 1), 12_000)
    expect(history.spans.at(-1)!.classes.chat).toMatchObject({ responded: 2, met: 1 })
  })

  it('says which fields a reload changed, field by field', () => {
    expect(diffConfiguration({ a: { b: 1, c: [1] } }, { a: { b: 2, c: [1] }, d: 'x' })).toEqual([
      { field: 'a.b', before: '1', after: '2' },
      { field: 'd', before: '', after: '"x"' },
    ])
    expect(diffConfiguration({ a: { b: 1 } }, {})).toEqual([
      { field: 'a.b', before: '1', after: '' },
    ])
  })
})

async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const url = new URL(path, open!.url)
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>(
    (resolve, reject) => {
      request(url, { headers, method }, (response) => {
        let text = ''
        response.on('data', (part: Buffer) => {
          text += String(part)
          // Enough of a stream that does not end.
          if (text.split('event: now').length > 12) response.destroy()
        })
        const done = () =>
          resolve({ status: response.statusCode!, headers: response.headers, text })
        response.on('close', done)
      })
        .on('error', reject)
        .end()
    },
  )
}

describe('the server of the dashboard', () => {
  it('serves a page that may load nothing, and only to this machine', async () => {
    open = await serveDashboard(liveSource())
    const page = await get('/')
    expect(page.status).toBe(200)
    expect(page.headers['content-security-policy']).toContain("default-src 'none'")
    expect(page.text).not.toMatch(/src=|https?:\/\/(?!www\.w3\.org)/)
    expect(page.text).toContain('a test &#60;b&#62;')
    expect((await get('/', { host: 'evil.example' })).status).toBe(403)
    expect((await get('/', {}, 'POST')).status).toBe(405)
    expect((await get('/else')).status).toBe(404)
    await expect(
      serveDashboard(liveSource(), Number(new URL(open.url).port)),
    ).rejects.toMatchObject({ code: 'ERR_DASHBOARD_PORT' })
  })

  it('tells at most ten times a second, with what came before first', async () => {
    open = await serveDashboard(liveSource())
    const { text } = await get('/events')
    const events = [...text.matchAll(/event: (\w+)\ndata: (.*)\n/g)].map(([, name, data]) => ({
      name,
      data: JSON.parse(data!) as { atMs: number },
    }))
    expect(events.slice(0, 2).map((e) => e.name)).toEqual(['history', 'configuration'])
    const now = events.filter((e) => e.name === 'now').map((e) => e.data.atMs)
    expect(now.length).toBeGreaterThan(10)
    // Timers may be late, never early; a clock in whole ms rounds.
    expect(now.at(-1)! - now[0]!).toBeGreaterThanOrEqual((now.length - 1) * EVERY_MS * 0.9)
    await expect.poll(() => open!.clients).toBe(0)
  })
})

const missing = chromiumPath === undefined
const facts = `({
  tooWide: document.documentElement.scrollWidth > innerWidth,
  ground: getComputedStyle(document.body).backgroundColor,
  cards: [...document.querySelectorAll('#classes h3')].map((e) => e.textContent),
  unnamed: [...document.querySelectorAll('svg')].filter((e) => e.getAttribute('role') !== 'img' || !e.getAttribute('aria-label')).length,
  view: document.getElementById('view').textContent,
  health: document.getElementById('health').textContent,
  changed: document.getElementById('changed').textContent,
  lanes: document.querySelectorAll('#lanes path').length,
})`

describe.skipIf(missing)('the page in Chromium (skipped where none is installed)', () => {
  it.each([
    ['light', 390],
    ['dark', 390],
    ['light', 1280],
  ] as const)(
    '%s, %i px: shows everything, fits, has names, no error',
    async (colorScheme, width) => {
      open = await serveDashboard(liveSource())
      const profile = mkdtempSync(join(tmpdir(), 'dashboard-'))
      const context = await chromium.launchPersistentContext(profile, {
        executablePath: chromiumPath as string,
        args: CHROMIUM_ARGS,
        colorScheme,
        viewport: { width, height: 844 },
      })
      try {
        const page: Page = await context.newPage()
        const complaints: string[] = []
        page.on('pageerror', (error) => complaints.push(error.message))
        page.on('console', (message) => complaints.push(message.text()))
        await page.goto(open.url)
        await page.waitForSelector('html[data-drawn]')
        const seen = (await page.evaluate(facts)) as Record<string, string>
        expect(complaints).toEqual([])
        expect(seen).toMatchObject({
          tooWide: false,
          cards: ['chat', 'listen', 'speech'],
          unnamed: 0,
          lanes: 4,
        })
        expect(seen.ground).toBe(colorScheme === 'dark' ? 'rgb(20, 23, 28)' : 'rgb(255, 255, 255)')
        expect(seen.view).toContain('shown')
        expect(seen.health).toContain('look: silent for 4 s')
        expect(seen.changed).toContain('uGuard')
        // By keyboard alone: past the link to the numbers, to the button, and it holds still.
        await page.keyboard.press('Tab')
        expect(await page.evaluate('document.activeElement.textContent')).toBe('To the numbers')
        await page.keyboard.press('Tab')
        await page.keyboard.press('Space')
        expect(await page.getAttribute('#pause', 'aria-pressed')).toBe('true')
        const roles = await page.getByRole('region').count()
        expect(roles).toBe(6)
        expect(await page.getByRole('status').textContent()).toContain('silent for 4 s')
      } finally {
        await context.close()
        rmSync(profile, { recursive: true, force: true })
      }
    },
  )
})
