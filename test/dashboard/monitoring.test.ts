import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import type { LinkReport } from '../../src/controller/link-report.js'
import { metricsText } from '../../src/controller/prometheus.js'

/** A report in which every metric has a value. */
const REPORT = {
  classes: [{ name: 'chat', responded: 2, met: 1, latencySumMs: 3, waiting: 1, slowdown: 1 }],
  endpoint: {
    sloMs: [100],
    isLong: [0],
    expectedMs: [50],
    waiting: [1],
    lost: [0],
    inShared: [1],
    inFlight: [1],
    slots: 2,
    holdMs: 10,
    longStepMs: 0,
  },
  stages: [{ stage: 0, heartbeatNs: '1', appliedLevel: 0 }],
  pressureSource: 'nvml',
  pressureKind: 'memory-activity',
  pressure: 0.5,
  pressureAgeMs: 10,
  boundary: [1],
  boundaryCount: 1,
  boundarySumNs: 1,
} as unknown as LinkReport

const read = (name: string): string =>
  readFileSync(new URL(`../../docs/monitoring/${name}`, import.meta.url), 'utf8')

it.each(['grafana-dashboard.json', 'alerts.yaml'])(
  '%s asks only for metrics that the controller exports',
  (name) => {
    const exported = new Set(
      [...metricsText(REPORT, 5n).matchAll(/^# TYPE (\w+) (\w+)/gm)].flatMap(([, metric, type]) =>
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => metric + end) : [metric],
      ),
    )
    const asked = new Set(read(name).match(/horizonserve_\w+/g))
    expect(asked.size).toBeGreaterThan(5)
    expect([...asked].filter((metric) => !exported.has(metric))).toEqual([])
  },
)

it('each alert says what it is about, each panel has a question', () => {
  const { groups } = parse(read('alerts.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[]
  }
  const rules = groups.flatMap((group) => group.rules)
  expect(new Set(rules.map((rule) => rule.alert)).size).toBe(rules.length)
  for (const rule of rules) expect(rule.annotations.summary.length).toBeGreaterThan(20)
  const { panels } = JSON.parse(read('grafana-dashboard.json')) as {
    panels: { title: string; targets: { expr: string }[] }[]
  }
  for (const panel of panels)
    for (const { expr } of panel.targets) expect(expr).toContain('job="$job"')
})
