/**
 * `npx tsx examples/face-to-face/run.ts [--quick] [--json]`: the whole loop on the face-to-face agent. The interpreter checks
 * the IR, the analysis justifies three variants, each is verified, measured and accepted by the gate against the one before;
 * then all four deployments are measured once more, interleaved, beside the planner's predictions. Stages hold devices, not
 * cores (see README.md); everything happens in a folder of its own, which is removed.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  applyPlacement,
  type BackendSession,
  deploymentBounds,
  drive,
  interpretProject,
  type MeasuredLoop,
  machine,
  openLoop,
  REFERENCE,
  type ReadLoopProject,
  type RequestRecord,
  readLoopProject,
  seededRandom,
} from '../../src/deploy/index.js'
import { DEPLOYMENTS, type Deployment, placementOf } from './deployments.js'

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, json: { type: 'boolean' } } })
/** Quick: holds a fifth as long, so that what the machine adds weighs more. For trying it out, not for figures. */
const SCALE = values.quick === true ? 0.2 : 1
const ROUNDS = values.quick === true ? 4 : 10
process.env.FACE_TO_FACE_SCALE = String(SCALE)
const log = (text: string): void => void process.stderr.write(`${text}\n`)

interface Row {
  readonly step: string
  readonly gpus: number
  readonly firstOutputMs: number
  readonly predictedMs: number
  readonly latencyError: string
  /** Chunks per second once they flow; null where all are shown at once. */
  readonly ratePerSec: number | null
  readonly predictedPerSec: number | null
  readonly rateError: string
  readonly faster: string
}

const root = mkdtempSync(join(tmpdir(), 'face-to-face-'))
try {
  for (const name of ['app', 'pipeline.yaml', 'loop.yaml'])
    cpSync(new URL(name, import.meta.url), join(root, name), { recursive: true })
  const read = readLoopProject(root)
  const check = await interpretProject(root, read, 2)
  log(
    `interpreter: ${check.equal ? 'equal to the reference, bit for bit' : 'DIFFERS'} over ${check.chunks} chunks`,
  )
  const loop = openLoop(read.project)
  for (const deployment of DEPLOYMENTS) await takeThrough(loop, read, deployment)
  const rows = await measureAll(loop, read)
  loop.close()
  process.stdout.write(
    values.json === true ? `${JSON.stringify({ scale: SCALE, rows })}\n` : render(rows),
  )
  const accepted = [...loop.ledger().variants.values()].every(
    (item) => item.variant.state !== 'rejected',
  )
  process.exitCode = check.equal && accepted ? 0 : 1
} finally {
  rmSync(root, { recursive: true, force: true })
}

/** One variant from its finding to its verdict. */
async function takeThrough(
  loop: MeasuredLoop,
  { project }: ReadLoopProject,
  deployment: Deployment,
): Promise<void> {
  const { id, title, target, gpus, against } = deployment
  const found = project.findings.find((item) => item.id === deployment.finding)!
  const finding = { id: found.id, rule: found.rule, why: found.why }
  const { bottleneck, expectedGain } = found
  loop.propose({
    id,
    title,
    finding,
    bottleneck,
    target,
    gpus,
    against,
    parts: [],
    source: 'agent',
    expectedGain,
  })
  const { workspace } = loop.implement(id)
  writeFileSync(
    join(workspace, 'deployment.json'),
    JSON.stringify({ mode: 'streaming', devices: deployment.devices }),
  )
  const verified = await loop.verify(id)
  log(`${id}: ${verified.equal ? 'equal' : 'unequal'}: ${verified.why}`)
  if (!verified.equal) return
  const { state, why } = await loop.measure(id)
  const record = loop.ledger().variants.get(id)!
  const looks = record.measurement?.stages.flatMap((stage) =>
    stage.looks.map(
      (look) =>
        `${stage.stage} ${stage.done.length} pairs: ${(100 * look.improvement).toFixed(1)} % less time`,
    ),
  )
  log(`${id}: ${state} against ${against} (${why}; ${looks?.join('; ')})`)
}

/** All four, interleaved in random order, in one go. */
async function measureAll(loop: MeasuredLoop, read: ReadLoopProject): Promise<Row[]> {
  const { project } = read
  const sessions = new Map<string, BackendSession>([[REFERENCE, await project.reference.open()]])
  for (const { id } of DEPLOYMENTS)
    sessions.set(id, await project.candidate(id, loop.workspaceOf(id)).open())
  const records = new Map<string, RequestRecord[]>([...sessions.keys()].map((id) => [id, []]))
  const random = seededRandom('rounds')
  for (let round = 0; round <= ROUNDS; round++) {
    const order = [...sessions.keys()]
      .map((id) => [random.uniform(), id] as const)
      .sort((a, b) => a[0] - b[0])
    for (const [, id] of order) {
      const [record] = await drive(sessions.get(id)!, project.measureScript)
      // The first round warms up.
      if (round > 0) records.get(id)!.push(record!)
    }
  }
  for (const session of sessions.values()) await session.close()
  const whole = middle(records.get(REFERENCE)!.map(firstOutput))
  const chunks = records.get(REFERENCE)![0]!.outputs.length
  return [undefined, ...DEPLOYMENTS].map((deployment) =>
    rowOf(read, deployment, records.get(deployment?.id ?? REFERENCE)!, whole, chunks),
  )
}

function rowOf(
  read: ReadLoopProject,
  deployment: Deployment | undefined,
  records: readonly RequestRecord[],
  whole: number,
  chunks: number,
): Row {
  const firstOutputMs = middle(records.map(firstOutput))
  const { latencyMs, ratePerSec: predicted } = predict(read, deployment, chunks)
  const ratePerSec = deployment === undefined ? null : middle(records.map(displayRate))
  return {
    step: deployment?.id ?? 'sequential',
    gpus: deployment?.gpus ?? 1,
    firstOutputMs: round(firstOutputMs),
    predictedMs: round(latencyMs),
    latencyError: percent(latencyMs / firstOutputMs - 1),
    ratePerSec: ratePerSec === null ? null : round(ratePerSec),
    predictedPerSec: predicted === null ? null : round(predicted),
    rateError:
      ratePerSec === null || predicted === null ? '-' : percent(predicted / ratePerSec - 1),
    faster: `${(whole / firstOutputMs).toFixed(2)}x`,
  }
}

/** The planner's bounds for the placement; for the sequential program the sum of all it holds, since nothing overlaps. */
function predict(
  { read: { graph } }: ReadLoopProject,
  deployment: Deployment | undefined,
  chunks: number,
): { latencyMs: number; ratePerSec: number | null } {
  if (deployment === undefined) {
    const sum = (rate: string): number =>
      graph.tasks
        .filter((task) => task.node.runs === rate)
        .reduce((total, task) => total + task.node.timesMs!.any!['1']!, 0)
    return { latencyMs: SCALE * (sum('request') + chunks * sum('batch')), ratePerSec: null }
  }
  const timed = applyPlacement(
    graph,
    machine({ gpus: deployment.gpus }),
    placementOf(graph, deployment),
  )
  const { firstOutputMs, periodMs } = deploymentBounds(timed)
  return { latencyMs: SCALE * firstOutputMs, ratePerSec: 1000 / (SCALE * periodMs) }
}

function firstOutput(record: RequestRecord): number {
  return record.outputs[0]!.atMs - record.readyMs
}

function displayRate(record: RequestRecord): number {
  const [first, last] = [record.outputs[0]!.atMs, record.outputs.at(-1)!.atMs]
  return (1000 * (record.outputs.length - 1)) / (last - first)
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!
}

function round(value: number): number {
  return Number(value.toFixed(2))
}

function percent(share: number): string {
  return `${share >= 0 ? '+' : ''}${(100 * share).toFixed(1)} %`
}

function render(rows: readonly Row[]): string {
  const head = [
    'step',
    'devices',
    'first output',
    'predicted',
    'error',
    'chunks/s',
    'predicted',
    'error',
    'faster',
  ]
  const lines = rows.map((row) =>
    [
      row.step,
      row.gpus,
      `${row.firstOutputMs} ms`,
      `${row.predictedMs} ms`,
      row.latencyError,
      row.ratePerSec ?? '-',
      row.predictedPerSec ?? '-',
      row.rateError,
      row.faster,
    ].map(String),
  )
  const widths = head.map((text, i) =>
    Math.max(text.length, ...lines.map((line) => line[i]!.length)),
  )
  const table = [head, ...lines].map((line) =>
    line
      .map((text, i) => text.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
  return `${table.join('\n')}\n\nMedians of ${ROUNDS} interleaved runs each. Context only: on 1, 3 and 8 B200 GPUs the paper reports 27.4x, about 69x and 65x.\n`
}
