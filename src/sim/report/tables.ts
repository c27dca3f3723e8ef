/**
 * @module
 * The tables of the report: every chart has one beside it, so that nothing is said by colour or shape alone.
 */
import type { ReportData, ReportPolicy } from './report-data.js'

export type Cell = string | { readonly text: string; readonly best: boolean }

/** Text for HTML; everything that comes from outside goes through it. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

export function classNames(data: ReportData): string[] {
  const names = data.calibration.classes.map((of) => of.name)
  return names.filter((name) => data.policies.some((policy) => name in policy.classes))
}

/** Attainment by policy and class, in percent; the best of a column is marked. */
export function attainmentTable(
  data: ReportData,
  over: 'attainmentOverArrived' | 'attainmentOverCompleted',
): string {
  const names = classNames(data)
  const column = (pick: (policy: ReportPolicy) => number | null): Cell[] => {
    const values = data.policies.map((policy) => pick(policy))
    const best = Math.max(...values.map((value) => value ?? -1))
    return values.map((value) => ({ text: percent(value), best: value === best && value > 0 }))
  }
  const columns = [
    column((policy) => policy.all[over]),
    column((policy) => policy.short[over]),
    column((policy) => policy.long[over]),
    ...names.map((name) => column((policy) => policy.classes[name]?.[over] ?? null)),
  ]
  return table(
    over === 'attainmentOverArrived'
      ? 'SLO attainment over all that arrived, %'
      : 'SLO attainment over completed requests, %',
    ['policy', 'all', 'short path', 'long path', ...names],
    data.policies.map((policy, i) => [policy.name, ...columns.map((cells) => cells[i] as Cell)]),
  )
}

/** p50, p95, p99 and maximum of the first response, one row per policy, for one class. */
export function latencyTable(data: ReportData, name: string): string {
  return table(
    `First response of ${name}, from arrival`,
    ['policy', 'p50', 'p95', 'p99', 'max', 'longest wait'],
    data.policies.map((policy) => {
      const of = policy.classes[name]
      const spread = of?.firstResponseMs
      return [
        policy.name,
        duration(spread?.p50),
        duration(spread?.p95),
        duration(spread?.p99),
        duration(spread?.max),
        duration(of?.longestWaitMs),
      ]
    }),
  )
}

/** Mean and maximum over time of one series. */
export function seriesTable(
  data: ReportData,
  series: string,
  title: string,
  digits: number,
): string {
  return table(
    title,
    ['policy', 'mean', 'max'],
    data.policies.map((policy) => {
      const column = policy.series.columns[policy.series.names.indexOf(series)] ?? []
      const values = column.filter((value) => value !== null)
      const sum = values.reduce((total, value) => total + value, 0)
      const top = values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY)
      if (values.length === 0) return [policy.name, '–', '–']
      return [policy.name, (sum / values.length).toFixed(digits), top.toFixed(digits)]
    }),
  )
}

/** Every request once: where it ended. */
export function accountTable(data: ReportData): string {
  return table(
    'Where requests ended, and what the engine did',
    [
      'policy',
      'arrived',
      'completed',
      'refused',
      'unfinished',
      'longest wait',
      'TPOT p50',
      'TPOT p95',
      'steps',
      'cap changes',
      'preempted',
    ],
    data.policies.map((policy) => [
      policy.name,
      String(policy.all.arrived),
      String(policy.all.completed),
      String(policy.all.refused),
      String(policy.all.unfinished),
      duration(policy.all.longestWaitMs),
      duration(policy.all.tpotMs.p50),
      duration(policy.all.tpotMs.p95),
      String(policy.steps),
      String(policy.capChanges),
      String(policy.preemptions),
    ]),
  )
}

export function sloTable(data: ReportData): string {
  return table(
    'SLO table: first response alone on the GPU, and the SLO made from it',
    ['class', 'path', 'solo p95', 'SLO', 'solo runs'],
    data.calibration.classes.map((of) => [
      of.name,
      of.path,
      duration(of.soloP95Ms),
      duration(of.sloMs),
      String(of.samples),
    ]),
  )
}

export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? '–' : (share * 100).toFixed(1)
}

/** Three significant digits with a unit that suits. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms < 1000) return `${Number(ms.toPrecision(3))} ms`
  if (ms < 600_000) return `${Number((ms / 1000).toPrecision(3))} s`
  return `${Number((ms / 60_000).toPrecision(3))} min`
}

export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  const cell = (of: Cell, i: number): string => {
    const text = escapeHtml(typeof of === 'string' ? of : of.text)
    if (i === 0) return `<th scope="row">${text}</th>`
    return typeof of !== 'string' && of.best
      ? `<td class="best"><strong>${text}</strong></td>`
      : `<td>${text}</td>`
  }
  const heads = head.map((name) => `<th scope="col">${escapeHtml(name)}</th>`).join('')
  const body = rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`).join('\n')
  return `<div class="scroll"><table><caption>${escapeHtml(caption)}</caption>
<thead><tr>${heads}</tr></thead>
<tbody>
${body}
</tbody></table></div>`
}
