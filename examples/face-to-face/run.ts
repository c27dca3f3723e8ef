/**
 * `npx tsx examples/face-to-face/run.ts [--quick] [--json]`: the whole loop on the face-to-face agent. The interpreter checks
 * the IR, the analysis justifies three variants, each is verified, measured and accepted by the gate against the one before;
 * then all four deployments are measured once more, interleaved, beside the planner's predictions: from the declared holds
 * alone, and from what a hold and the way to the harness cost on this machine, measured beforehand (measured-times.ts). Stages
 * hold devices, not cores (see README.md); everything happens in a folder of its own, which is removed.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import {
  type BackendSession,
  drive,
  fingerprint,
  interpretProject,
  type MeasuredLoop,
  measureRun,
  openLoop,
  REFERENCE,
  type ReadLoopProject,
  type RequestRecord,
  readLoopProject,
  seededRandom,
} from '../../src/deploy/index.js'
import { DEPLOYMENTS, type Deployment, STAGES } from './deployments.js'
import { measuredHolds, measuredWayMs, middle } from './measured-times.js'
import { type Costs, type Prediction, predict, scaledHolds, withTimes } from './predict.js'

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, json: { type: 'boolean' } } })
/** Quick: holds a fifth as long, so that what the machine adds weighs more. For trying it out, not for figures. */
const SCALE = values.quick === true ? 0.2 : 1
const ROUNDS = values.quick === true ? 4 : 10
process.env.FACE_TO_FACE_SCALE = String(SCALE)
const log = (text: string): void => void process.stderr.write(`${text}\n`)

/** A prediction and how far it is from what was measured: -0.1 promised a tenth less. */
interface Predicted {
  readonly value: number
  readonly error: number
}

interface Row {
  readonly step: string
  readonly gpus: number
  readonly firstOutputMs: number
  /** From the declared holds, and from the measured ones. */
  readonly latency: { readonly declared: Predicted; readonly measured: Predicted }
  /** Chunks per second once they flow; null where all are shown at once. */
  readonly ratePerSec: number | null
  readonly rate: { readonly declared: Predicted; readonly measured: Predicted } | null
  /** Time from the question to the last chunk over the length of the answer: above 1 a user waits. */
  readonly realTimeFactor: number
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
  const declared: Costs = {
    graph: withTimes(read.read.graph, scaledHolds(read.read.graph, SCALE)),
    wayMs: 0,
  }
  const app = join(root, 'app')
  const holds = await measuredHolds(pathToFileURL(`${app}/`), STAGES)
  const measured: Costs = {
    graph: withTimes(read.read.graph, holds),
    wayMs: await measuredWayMs(app),
  }
  log(
    `a hold of ${SCALE * 15} ms takes ${holds.get('dit1')!.toFixed(2)} ms, the way to and from the harness ${measured.wayMs.toFixed(2)} ms`,
  )
  const rows = await measureAll(loop, read, { declared, measured })
  loop.close()
  process.stdout.write(
    values.json === true
      ? `${JSON.stringify({ scale: SCALE, machine: fingerprint(), rows })}\n`
      : render(rows),
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
  const { id, title, target, gpus } = deployment
  const against = acceptedBelow(loop, deployment)
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

/** What it builds on, or what that builds on, down to the reference: a busy machine may leave a step unproved. */
function acceptedBelow(loop: MeasuredLoop, deployment: Deployment): string {
  const parent = DEPLOYMENTS.find((item) => item.id === deployment.against)
  if (parent === undefined) return REFERENCE
  const accepted = loop.ledger().variants.get(parent.id)?.variant.state === 'accepted'
  return accepted ? parent.id : acceptedBelow(loop, parent)
}

/** All four, interleaved in random order, in one go. */
async function measureAll(
  loop: MeasuredLoop,
  read: ReadLoopProject,
  costs: { readonly declared: Costs; readonly measured: Costs },
): Promise<Row[]> {
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
    rowOf(records.get(deployment?.id ?? REFERENCE)!, {
      deployment,
      whole,
      mediaMs: SCALE * project.mediaMsPerOutput!,
      declared: predict(costs.declared, deployment, chunks),
      measured: predict(costs.measured, deployment, chunks),
    }),
  )
}

function rowOf(
  records: readonly RequestRecord[],
  at: {
    readonly deployment: Deployment | undefined
    /** First output of the sequential program. */
    readonly whole: number
    readonly mediaMs: number
    readonly declared: Prediction
    readonly measured: Prediction
  },
): Row {
  const { deployment, declared, measured } = at
  const firstOutputMs = middle(records.map(firstOutput))
  const ratePerSec = deployment === undefined ? null : middle(records.map(displayRate))
  const against = (value: number, seen: number): Predicted => ({
    value: round(value),
    error: Number((value / seen - 1).toFixed(4)),
  })
  return {
    step: deployment?.id ?? 'sequential',
    gpus: deployment?.gpus ?? 1,
    firstOutputMs: round(firstOutputMs),
    latency: {
      declared: against(declared.latencyMs, firstOutputMs),
      measured: against(measured.latencyMs, firstOutputMs),
    },
    ratePerSec: ratePerSec === null ? null : round(ratePerSec),
    rate:
      ratePerSec === null || declared.ratePerSec === null || measured.ratePerSec === null
        ? null
        : {
            declared: against(declared.ratePerSec, ratePerSec),
            measured: against(measured.ratePerSec, ratePerSec),
          },
    realTimeFactor: round(
      middle(records.map((record) => measureRun([record], at.mediaMs).realTimeFactor!)),
    ),
    faster: `${(at.whole / firstOutputMs).toFixed(2)}x`,
  }
}

function firstOutput(record: RequestRecord): number {
  return record.outputs[0]!.atMs - record.readyMs
}

function displayRate(record: RequestRecord): number {
  const [first, last] = [record.outputs[0]!.atMs, record.outputs.at(-1)!.atMs]
  return (1000 * (record.outputs.length - 1)) / (last - first)
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
    'by declared holds',
    'by measured holds',
    'chunks/s',
    'by declared holds',
    'by measured holds',
    'real-time factor',
    'faster',
  ]
  const predicted = (item: Predicted | undefined, unit: string): string =>
    item === undefined ? '-' : `${item.value}${unit} (${percent(item.error)})`
  const lines = rows.map((row) =>
    [
      row.step,
      row.gpus,
      `${row.firstOutputMs} ms`,
      predicted(row.latency.declared, ' ms'),
      predicted(row.latency.measured, ' ms'),
      row.ratePerSec ?? '-',
      predicted(row.rate?.declared, ''),
      predicted(row.rate?.measured, ''),
      row.realTimeFactor,
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
  const { load1: load, cores } = fingerprint()
  return `${table.join('\n')}\n\nMedians of ${ROUNDS} interleaved runs each; in brackets how far the prediction is off. Load of the machine ${load} on ${cores} cores.\nContext only: on 1, 3 and 8 B200 GPUs the paper reports 27.4x, about 69x and 65x.\n`
}
