/**
 * @module
 * Results in a JSON-lines file, one row per run, so that a long reproduction can be stopped and goes on where it was. A fingerprint of
 * the model's parameters and of the row's own case stands in every line: rows made by another model or another policy are never mixed
 * in, and a new case leaves the rows of the others as they are. A line cut short by a kill is left out.
 */
import { nodeModule } from '../node-module.js'
import { EFFICIENCY, GPUS, MODELS, SHARING } from '../omni/parameters.js'
import { EXPERIMENT_CASES } from './experiment-cases.js'
import { policyOfKey, type Row } from './job.js'

/** Raised when the simulator or a policy changes what a run yields. */
const VERSION = 1

/** Of every parameter of the model, twelve hexadecimal digits: printed with the results. */
export function modelFingerprint(): string {
  return digest([GPUS, EFFICIENCY, SHARING, MODELS])
}

function digest(value: unknown): string {
  return nodeModule('node:crypto')
    .createHash('sha256')
    .update(JSON.stringify(value))
    .digest('hex')
    .slice(0, 12)
}

export interface ResultStore {
  /** Rows found in the file. */
  readonly found: number
  get(key: string): Row | undefined
  put(key: string, row: Row): void
}

/** Without a path, rows live in memory only. */
export function createResultStore(path?: string): ResultStore {
  const model = modelFingerprint()
  const prints = new Map(
    EXPERIMENT_CASES.map(({ name, about, sharing }) => [
      name,
      digest([VERSION, model, name, about, sharing]),
    ]),
  )
  const bound = digest([VERSION, model])
  const printOf = (key: string): string => prints.get(policyOfKey(key)) ?? bound
  const rows = new Map<string, Row>()
  if (path !== undefined && nodeModule('node:fs').existsSync(path)) {
    for (const line of nodeModule('node:fs').readFileSync(path, 'utf8').split('\n')) {
      const entry = parsed(line)
      if (entry !== undefined && entry.print === printOf(entry.key)) rows.set(entry.key, entry.row)
    }
  }
  const found = rows.size
  return {
    found,
    get: (key) => rows.get(key),
    put(key, row) {
      rows.set(key, row)
      if (path === undefined) return
      nodeModule('node:fs').appendFileSync(
        path,
        `${JSON.stringify({ print: printOf(key), key, row })}\n`,
      )
    },
  }
}

function parsed(line: string): { print: string; key: string; row: Row } | undefined {
  if (line.trim() === '') return undefined
  try {
    const value = JSON.parse(line) as { print?: unknown; key?: unknown; row?: unknown }
    const isEntry = typeof value.print === 'string' && typeof value.key === 'string'
    return isEntry && typeof value.row === 'object' && value.row !== null
      ? (value as { print: string; key: string; row: Row })
      : undefined
  } catch {
    return undefined
  }
}
