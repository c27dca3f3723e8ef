/**
 * @module
 * Puts the files of one run together: one JSON object, and a short table to read.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CheckResult } from './check.js'
import type { ProcessReport } from './two-process.js'

type Named = CheckResult & { readonly name: string }

/** Reads what the steps left in `folder`, adds what can only be seen with both sides at hand, writes result.json and table.md. */
export function writeReport(folder: string): { readonly failed: number; readonly text: string } {
  const checks: Named[] = read<{ checks: Named[] }>(folder, 'checks.json')?.checks ?? []
  if (checks.length === 0)
    checks.push({ name: 'checks', failed: ['nothing ran: see checks.log'], values: {} })
  for (const mode of ['plain', 'mps']) checks.push(compareSides(folder, mode))
  for (const name of ['torch', 'graphs'])
    checks.push(
      read<Named>(folder, `${name}.json`) ?? {
        name,
        failed: [`the ${name} step left no result: see ${name}.log`],
        values: {},
      },
    )
  const doctor = read<Record<string, unknown>>(folder, 'doctor.json')
  if (doctor === undefined)
    checks.push({ name: 'doctor', failed: ['no output: see doctor.log'], values: {} })
  const environment = read<Record<string, unknown>>(folder, 'environment.json') ?? {}
  const passed = checks.filter((c) => c.failed.length === 0 && c.skipped === undefined).length
  const failed = checks.filter((c) => c.failed.length > 0).length
  const skipped = checks.filter((c) => c.skipped !== undefined).length
  const summary = `${passed} passed, ${failed} failed, ${skipped} skipped`
  writeFileSync(
    join(folder, 'result.json'),
    `${JSON.stringify({ environment, summary, doctor, checks }, null, 1)}\n`,
  )
  const text = `${[title(environment), '', ...checks.flatMap(lines), '', summary].join('\n')}\n`
  writeFileSync(join(folder, 'table.md'), text)
  return { failed, text }
}

function title(environment: Readonly<Record<string, unknown>>): string {
  const isDouble = environment.double === true
  return `# GPU check: ${String(environment.device ?? 'no device')}${isDouble ? ' (DRY RUN against a double: no number here is of a GPU)' : ''}`
}

/** The two processes of one mode: disjoint on every row, and slowed by each other or not. */
function compareSides(folder: string, mode: string): Named {
  const name = `two-processes-${mode}`
  const skipped = read<{ reason: string }>(folder, `${mode}-skipped.json`)
  if (skipped !== undefined) return { name, failed: [], skipped: skipped.reason, values: {} }
  const shared = read<ProcessReport>(folder, `${mode}-shared.json`)
  const downstream = read<ProcessReport>(folder, `${mode}-downstream.json`)
  const alone = {
    shared: read<ProcessReport>(folder, `${mode}-shared-alone.json`),
    downstream: read<ProcessReport>(folder, `${mode}-downstream-alone.json`),
  }
  if (shared === undefined || downstream === undefined)
    return { name, failed: [`a side left no result: see ${mode}-*.log`], values: {} }
  const failed: string[] = []
  if (mode === 'mps' && shared.isMpsClient === false)
    failed.push('the daemon runs, but the driver says that the process is no client of it')
  const rows = shared.rows.map((row, i) => {
    const other = downstream.rows[i]
    const both = row.ids.filter((id) => other?.ids.includes(id))
    if (row.kind === 'co-running' && both.length > 0)
      failed.push(`row ${row.index}: both processes ran on SM ${both.join(', ')}`)
    return {
      sms: `${row.sms}/${other?.sms}`,
      kind: row.kind,
      overlap: both.length,
      sharedSlowdown: ratio(row.medianMs, alone.shared?.rows[i]?.medianMs),
      downstreamSlowdown: ratio(other?.medianMs, alone.downstream?.rows[i]?.medianMs),
    }
  })
  return { name, failed, values: { isMpsClient: shared.isMpsClient, rows } }
}

function lines(check: Named): string[] {
  const state = check.skipped !== undefined ? 'skipped' : check.failed.length > 0 ? 'FAILED' : 'ok'
  const out = [`- ${check.name}: ${state}`]
  if (check.skipped !== undefined) out.push(`    ${check.skipped}`)
  for (const failure of check.failed) out.push(`    ${failure}`)
  for (const [key, value] of Object.entries(check.values)) {
    if (Array.isArray(value) && value.length > 0 && typeof value[0] === 'object')
      out.push(...table(key, value))
    else out.push(`    ${key}: ${JSON.stringify(value)}`)
  }
  return out
}

function table(key: string, rows: readonly Record<string, unknown>[]): string[] {
  const columns = Object.keys(rows[0] ?? {}).filter(
    (column) => typeof rows[0]?.[column] !== 'object',
  )
  const cell = (value: unknown): string =>
    typeof value === 'number' ? String(Number(value.toPrecision(4))) : String(value ?? '')
  return [
    `    ${key}:`,
    `    | ${columns.join(' | ')} |`,
    `    |${columns.map(() => '---|').join('')}`,
    ...rows.map((row) => `    | ${columns.map((column) => cell(row[column])).join(' | ')} |`),
  ]
}

function read<T>(folder: string, file: string): T | undefined {
  const path = join(folder, file)
  if (!existsSync(path)) return
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T
  } catch {
    // Half a file is what a step leaves that was stopped in the middle: the same as none.
    return
  }
}

function ratio(a: number | undefined, b: number | undefined): number | null {
  return a === undefined || b === undefined || !(b > 0) ? null : Number((a / b).toPrecision(4))
}
