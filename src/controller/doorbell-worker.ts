/**
 * @module
 * Lockstep: waits for the engine's doorbell in a thread of its own, decides, answers, wakes the engine. The main thread never blocks.
 * Every wait is bounded, and a stop word ends the loop: a worker in an endless wait could not be ended.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { BOUNDARY_OFFSET, MODE } from '../adapters/layout.js'
import { viewSegment } from '../adapters/segment.js'
import type { SegmentHeader } from '../adapters/segment-file.js'
import type { HorizonConfig } from '../config.js'
import { createPictureTaker } from '../dashboard/picture.js'
import { futexAt } from '../native/futex.js'
import { fileRecorder } from '../record/index.js'
import { readBell } from './boundary.js'
import { createCadence } from './cadence.js'
import { buildControl } from './control-setup.js'
import { createEngineLink } from './engine-link.js'
import { createKeepOff } from './keep-off.js'
import { type LinkReport, linkReport, type MetricsBook } from './link-report.js'
import { createMetricsBook } from './metrics-book.js'
import { monotonicNs } from './monotonic-clock.js'
import { pressureReader } from './pressure-cell.js'
import { createRehearsal } from './rehearsal.js'

/** What the main thread hands over. */
export interface DoorbellData {
  readonly path: string
  readonly header: SegmentHeader
  readonly address: bigint
  readonly config: HorizonConfig
  readonly answerLimit: number
  /** Keep looking at the bell for this long before sleeping, µs. Only with a core to spare. */
  readonly spinUs: number
  /** One word that ends the loop. In memory of this process, for nothing that an engine writes may stop a controller. */
  readonly stop: SharedArrayBuffer
  /** Reports carry what a dashboard shows, and come as often as it can show it. */
  readonly picture: boolean
  /** Where to go on recording. */
  readonly record: { readonly path: string; readonly maxBytes?: number } | undefined
  readonly pressure: { readonly cell: SharedArrayBuffer; readonly staleAfterMs: number } | undefined
}

/** What the worker says, twice a second and when it ends. */
export type DoorbellMessage =
  | { readonly kind: 'report'; readonly report: LinkReport }
  | { readonly kind: 'trouble'; readonly text: string }
  | { readonly kind: 'stopped' }

/** How often events are read between two questions, and the way of an answer is rehearsed: about 2 % of a core. */
const TICK_NS = 1e6
const REPORT_NS = 500e6
const PICTURE_NS = 100e6
/** How often, at most, it is looked where the engine runs: it may move whenever it wakes. */
const PLACE_NS = 5e6
/** So much longer a tick may wait for a question that is about to come. */
const LATE_NS = 5e6
/** The stage that asks. */
const SHARED_STAGE = 0

function main(data: DoorbellData): void {
  const segment = viewSegment(data.path, data.header, data.address)
  const u32 = new Uint32Array(segment.buffer)
  const bellAt = futexAt(data.address + BigInt(BOUNDARY_OFFSET))
  const answeredAt = futexAt(data.address + BigInt(BOUNDARY_OFFSET + 64))
  const book: MetricsBook = createMetricsBook(Object.keys(data.config.classes))
  const tell = (message: DoorbellMessage): void => parentPort?.postMessage(message)
  const pressure =
    data.pressure === undefined
      ? undefined
      : pressureReader(data.pressure.cell, data.pressure.staleAfterMs)
  const recorder =
    data.record &&
    fileRecorder(data.record.path, {
      ...data.record,
      append: true,
      onEnd: (why) => tell({ kind: 'trouble', text: `the recording ends: ${why}` }),
    })
  const setup = buildControl(
    data.config,
    pressure === undefined ? {} : { pressureSource: pressure },
    recorder,
  )
  const link = createEngineLink({
    segment,
    scheduler: setup.scheduler,
    rules: setup.rules,
    descriptions: setup.descriptions,
    mode: 'lockstep',
    slots: data.config.slots,
    downstreamPlaces: data.config.downstreamPlaces,
    answerLimit: data.answerLimit,
    onFirstResponse: book.onFirstResponse,
    onStep: book.onStep,
    onTrouble: (text) => tell({ kind: 'trouble', text }),
    ...(pressure === undefined ? {} : { pressure }),
  })
  const takePicture = data.picture ? createPictureTaker(setup.scheduler) : undefined
  const reportNs = data.picture ? PICTURE_NS : REPORT_NS
  const stop = new Int32Array(data.stop)
  const spinNs = data.spinUs * 1000
  const rehearse = createRehearsal(data.config)
  const keepOff = createKeepOff()
  const cadence = createCadence()
  let placeAt = 0
  let reportAt = 0
  let tickAt = 0
  let spinEnd = 0
  let seen = readBell(u32)
  link.tick(monotonicNs())
  segment.setMode(MODE.lockstep, process.pid)
  while (Atomics.load(stop, 0) === 0) {
    const bell = readBell(u32)
    const now = monotonicNs()
    const ns = Number(now)
    if (bell !== seen) {
      seen = bell
      if (link.answer(now)) answeredAt.wake(1)
      segment.beat(now)
      spinEnd = ns + spinNs
      cadence.asked(ns)
    } else if (keepOff.isApart && cadence.isDue(ns) && ns < tickAt + LATE_NS) {
      // The next question is about to come: look again, do nothing else.
    } else if (ns >= tickAt) {
      // What nobody waits for: between two answers, never before the wait for the next question.
      tickAt = ns + TICK_NS
      link.tick(now)
      rehearse()
      // Nobody waits for it: that too is rehearsed.
      answeredAt.wake(1)
      if (ns >= placeAt) {
        placeAt = ns + PLACE_NS
        keepOff.renew(segment.stage(SHARED_STAGE).pid)
      }
      if (ns >= reportAt) {
        reportAt = ns + reportNs
        tell({ kind: 'report', report: linkReport(link, book, takePicture) })
        recorder?.flush()
      }
    } else if (ns >= spinEnd) {
      const isExpected = keepOff.isApart && cadence.fromNs > ns && cadence.fromNs < tickAt
      bellAt.wait(seen, ((isExpected ? cadence.fromNs : tickAt) - ns) / 1e6)
    }
  }
  link.stop()
  recorder?.close()
  tell({ kind: 'stopped' })
}

main(workerData as DoorbellData)
