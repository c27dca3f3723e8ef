/**
 * @module
 * A simulation result as text: attainment per policy and class, first-response p95, and what the numbers rest on.
 */
import { duration, percent, type ReportData, reportClassNames } from '../sim/index.js'
import { textTable } from './text-table.js'

export function attainmentText(data: ReportData): string {
  const names = reportClassNames(data)
  const { workload, runtime } = data
  const attainment = textTable(
    ['policy', 'all', 'short', 'long', ...names],
    data.policies.map((policy) => [
      policy.name,
      percent(policy.all.attainmentOverArrived),
      percent(policy.short.attainmentOverArrived),
      percent(policy.long.attainmentOverArrived),
      ...names.map((name) => percent(policy.classes[name]?.attainmentOverArrived)),
    ]),
  )
  const latency = textTable(
    ['policy', ...names],
    [
      ['(SLO)', ...names.map((name) => duration(sloOf(data, name)))],
      ...data.policies.map((policy) => [
        policy.name,
        ...names.map((name) => duration(policy.classes[name]?.firstResponseMs.p95)),
      ]),
    ],
  )
  const waits = textTable(
    ['policy', 'short p95', 'short longest wait', 'long p95', 'long longest wait'],
    data.policies.map(({ name, short, long }) => [
      name,
      ...[short, long].flatMap((path) => [
        duration(path.firstResponseMs.p95),
        duration(path.longestWaitMs),
      ]),
    ]),
  )
  return [
    `Simulated: ${runtime.model} on ${runtime.gpu}; ${workload.name}; ${workload.requests} requests, seed ${workload.seed}`,
    ...workload.notes.map((note) => `  ${note}`),
    ...(workload.skippedLines > 0 ? [`  ${workload.skippedLines} broken lines left out`] : []),
    '',
    'SLO attainment over all that arrived, %',
    attainment,
    'First response, p95',
    latency,
    'What it costs whom: first response p95, and the longest wait for a place',
    waits,
    accounts(data),
  ].join('\n')
}

function accounts(data: ReportData): string {
  const lines = data.policies
    .filter(({ all }) => all.refused + all.unfinished > 0)
    .map(({ name, all }) => `${name}: ${all.refused} refused, ${all.unfinished} unfinished\n`)
  return lines.length === 0 ? 'Every request completed under every policy.\n' : lines.join('')
}

function sloOf(data: ReportData, name: string): number | undefined {
  return data.calibration.classes.find((of) => of.name === name)?.sloMs
}
