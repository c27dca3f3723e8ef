/**
 * @module
 * Reads the kernel tables `PREFIX.attention.csv`, `.dense.csv`, `.per_sequence.csv`, and where they exist `.skew_fit.csv` and `.moe.csv`; a
 * skew table that the profiler's `.perf-meta.yaml` declares disabled is left out.
 * Their columns are described in `../shared/traces/README.md`; times are microseconds, attention, dense and experts per layer.
 */
import { parse } from 'yaml'
import { HorizonError } from '../../core/errors.js'
import { nodeModule } from '../node-module.js'
import { createAttentionTable } from './attention-table.js'
import { type CsvTable, parseCsv } from './csv.js'
import { type Curve, createCurve } from './curve.js'
import { createMoeTable } from './moe-table.js'
import { createSkewTable } from './skew-table.js'
import type { KernelTables } from './step-price.js'

export function loadKernelTables(prefix: string): KernelTables {
  const file = (name: string): string => `${prefix}.${name}.csv`
  const read = (name: string, numbers: readonly string[], texts: readonly string[]): CsvTable =>
    parseCsv(readText(file(name)), file(name), { numbers, texts })
  const optional = (name: string): boolean => nodeModule('node:fs').existsSync(file(name))
  const skewColumns =
    optional('skew_fit') && skewEnabled(prefix)
      ? read('skew_fit', ['pc', 'alpha'], ['n_label', 'skew_rate_label'])
      : parseCsv('pc,n_label,skew_rate_label,alpha', 'no skew table', {
          numbers: ['pc', 'alpha'],
          texts: ['n_label', 'skew_rate_label'],
        })
  return {
    dense: curves(read('dense', ['tokens', 'time_us'], ['layer']), 'tokens', file('dense')),
    perSequence: curves(
      read('per_sequence', ['sequences', 'time_us'], ['layer']),
      'sequences',
      file('per_sequence'),
    ),
    attention: createAttentionTable(
      read('attention', ['prefill_chunk', 'kv_prefill', 'n_decode', 'kv_decode', 'time_us'], []),
      file('attention'),
    ),
    skew: createSkewTable(skewColumns, file('skew_fit')),
    moe: optional('moe')
      ? createMoeTable(read('moe', ['tokens', 'activated_experts', 'time_us'], []), file('moe'))
      : undefined,
  }
}

/** False where the profiler's own metadata, beside the tables, says that its skew table was not in force. */
function skewEnabled(prefix: string): boolean {
  const file = `${prefix.replace(/\.tp\d+$/, '')}.perf-meta.yaml`
  if (!nodeModule('node:fs').existsSync(file)) return true
  const meta = parseYaml(readText(file), file)
  const fit = (meta as { skew_fit?: { enabled?: unknown } } | null)?.skew_fit
  return fit?.enabled !== false
}

function parseYaml(text: string, file: string): unknown {
  try {
    return parse(text)
  } catch (cause) {
    throw new HorizonError('ERR_SIM_FILE', 'not YAML', {
      field: file,
      expected: "the profiler's metadata",
      got: cause instanceof Error ? cause.message : cause,
      cause,
    })
  }
}

/** The tables of `base` at a tensor-parallel degree: degree 1 has no suffix, others `.tpN`. */
export function tablesPrefix(base: string, tensorParallel: number): string {
  return tensorParallel === 1 ? base : `${base}.tp${tensorParallel}`
}

function curves(csv: CsvTable, abscissa: string, file: string): Map<string, Curve> {
  const x = csv.number(abscissa)
  const y = csv.number('time_us')
  const points = new Map<string, { x: number[]; y: number[] }>()
  csv.text('layer').forEach((layer, row) => {
    const of = points.get(layer) ?? { x: [], y: [] }
    of.x.push(x[row] as number)
    of.y.push(y[row] as number)
    points.set(layer, of)
  })
  return new Map(
    [...points].map(([layer, of]) => [layer, createCurve(of.x, of.y, `${file} ${layer}`)]),
  )
}

function readText(file: string): string {
  try {
    return nodeModule('node:fs').readFileSync(file, 'utf8')
  } catch (cause) {
    throw new HorizonError('ERR_SIM_FILE', 'cannot read the file', {
      field: file,
      expected: 'a readable kernel table',
      got: cause instanceof Error ? cause.message : cause,
      hint: 'The prefix is the path up to ".attention.csv"; tensor-parallel tables end in ".tpN".',
      cause,
    })
  }
}
