/**
 * @module
 * One controller for one engine: waits for its segment, attaches, steers, notices when the engine dies, and starts over. Whatever
 * happens to it, the engine goes on; whatever happens to the engine, it waits for the next one.
 */
import type { Worker } from 'node:worker_threads'
import { removeIfDead } from '../adapters/discover.js'
import { BOUNDARY_OFFSET, CONTROLLER_BEAT_MS, MODE } from '../adapters/layout.js'
import { attachSegment, type Segment } from '../adapters/segment.js'
import type { HorizonConfig } from '../config.js'
import { HorizonError, isHorizonError } from '../core/errors.js'
import { createPictureTaker, type Picture } from '../dashboard/picture.js'
import { futexAt } from '../native/futex.js'
import { type FileRecorder, fileRecorder } from '../record/index.js'
import { buildControl, type ControlSetup } from './control-setup.js'
import type { DoorbellData, DoorbellMessage } from './doorbell-worker.js'
import { createEngineLink, type EngineLink } from './engine-link.js'
import { type LinkReport, linkReport } from './link-report.js'
import { createMetricsBook, type MetricsBook } from './metrics-book.js'
import { monotonicNs } from './monotonic-clock.js'
import { openWorker } from './open-worker.js'
import { type PressureReader, pressureReader } from './pressure-cell.js'
import {
  type PressureChoice,
  type PressureSampler,
  pressureSettings,
  startPressureSampler,
} from './pressure-sampler.js'
import { createRollout } from './rollout.js'

export interface ControllerOptions {
  readonly path: string
  readonly config: HorizonConfig
  /** `auto` is published where the policy compiles to the table, lockstep where it does not. @default 'auto' */
  readonly mode?: 'auto' | 'published' | 'lockstep'
  /** How often events are read and the state is renewed, ms; at most `CONTROLLER_BEAT_MS`. @default 2 */
  readonly pollMs?: number
  /** Most requests named in a lockstep answer. @default 256 */
  readonly answerLimit?: number
  /** How long the doorbell worker looks before it sleeps, µs. @default 0 */
  readonly spinUs?: number
  /** Share of the time in which the policy is in force; outside it is computed and published, and nothing is hidden. @default 1 */
  readonly share?: number
  /** Where memory pressure comes from, whatever the configuration says. @default what it says */
  readonly pressure?: PressureChoice
  /** Links of the other engines of the same server, while they are steered from this thread. @default none */
  readonly peers?: () => Iterable<EngineLink>
  /** The folder of the compiled workers, for a program that bundles this one. @default beside this module */
  readonly workerFolder?: URL
  /** Reports carry what a dashboard shows. @default false */
  readonly picture?: boolean
  /** Writes every event and decision to this file; see `horizonserve replay`. */
  readonly record?: { readonly path: string; readonly maxBytes?: number }
  /** Gets one line per event worth telling. */
  readonly log: (level: 'info' | 'warn', text: string) => void
}

export interface Controller {
  /** The mode in force. */
  readonly mode: 'published' | 'lockstep'
  /** The link to the engine, while it is steered from this thread. */
  readonly link: EngineLink | undefined
  /** The engine's state, or undefined while none is attached. */
  report(): LinkReport | undefined
  /** Tries once to attach; true when attached. Wrong versions and owners throw. */
  attach(): boolean
  /**
   * Looks after the engine: attaches when there is one, lets go when it has died. Call about every 200 ms. An engine that cannot be
   * steered (another version, another controller) is told of once.
   */
  watch(): void
  /** Another configuration; refused, with the old one kept, when it does not build. */
  reload(config: HorizonConfig): Promise<void>
  /**
   * Another share of the time under the policy, at once: 0 makes everything visible at the engine's next step.
   * @throws `ERR_CONTROLLER_MODE` for a share between 0 and 1 where the policy needs lockstep
   */
  setShare(share: number): Promise<void>
  /** Lets go of the engine, which is on its own from then on. */
  stop(): Promise<void>
}

const WORKER_STOP_MS = 1000
/** So much of a recording may be lost when the controller is killed. */
const RECORD_FLUSH_MS = 1000

/** A worker and the word that ends it. */
interface Doorbell {
  readonly worker: Worker
  readonly stop: Int32Array
}

export function createController(options: ControllerOptions): Controller {
  const { path, log } = options
  let config = options.config
  let setup: ControlSetup = buildControl(config)
  let segment: Segment | undefined
  let link: EngineLink | undefined
  let timer: NodeJS.Timeout | undefined
  let doorbell: Doorbell | undefined
  let latest: LinkReport | undefined
  let refusal = ''
  let book: MetricsBook = newBook()
  const rollout = createRollout(options.share ?? 1)
  let takePicture: ((nowMs: number) => Picture) | undefined
  let recorder: FileRecorder | undefined
  let flushing: NodeJS.Timeout | undefined
  /** Another engine or configuration goes on in the same file. */
  let isRecorded = false

  const modeOf = (of: ControlSetup, share = rollout.share): 'published' | 'lockstep' => {
    const wanted = options.mode ?? 'auto'
    // What is only watched is published: nobody waits for it.
    if (share === 0) return 'published'
    if (share < 1 && (wanted === 'lockstep' || of.rules === undefined)) {
      throw new HorizonError(
        'ERR_CONTROLLER_MODE',
        'a share of the time needs the published mode',
        {
          field: 'share',
          expected: '0 or 1 in lockstep, or a policy that compiles to the published table',
          got: share,
        },
      )
    }
    if (wanted === 'published' && of.rules === undefined) {
      throw new HorizonError(
        'ERR_CONTROLLER_MODE',
        'the policy does not compile to the published table',
        {
          field: 'engine.mode',
          expected: 'lockstep or auto; or slotReserve: false where slots are given',
          got: 'published',
        },
      )
    }
    return wanted === 'auto' ? (of.rules === undefined ? 'lockstep' : 'published') : wanted
  }
  let mode = modeOf(setup)
  let sampler: PressureSampler | undefined
  let sampled = ''

  /** Samples as the configuration in force asks; a sampler whose settings are the same goes on. */
  const samplePressure = async (): Promise<void> => {
    const settings = pressureSettings(config, options.pressure)
    if (JSON.stringify(settings ?? null) === sampled) return
    sampled = JSON.stringify(settings ?? null)
    const before = sampler
    sampler =
      settings === undefined ? undefined : startPressureSampler(settings, log, options.workerFolder)
    await before?.close()
  }

  function newBook(): MetricsBook {
    return createMetricsBook(Object.keys(config.classes))
  }

  const endRecording = (): void => {
    clearInterval(flushing)
    recorder?.close()
    recorder = undefined
  }

  /** Opens the file for one scheduler; in lockstep, whose scheduler lives in its worker, only makes it. */
  const beginRecording = (): void => {
    endRecording()
    if (options.record === undefined) return
    const { path: file, ...bound } = options.record
    const made = fileRecorder(file, {
      ...bound,
      append: isRecorded,
      onEnd: (why) => log('warn', `the recording ends: ${why}`),
    })
    isRecorded = true
    if (mode === 'lockstep') made.close()
    else {
      recorder = made
      flushing = setInterval(() => made.flush(), RECORD_FLUSH_MS)
      flushing.unref()
    }
  }

  const steer = (at: Segment): void => {
    void samplePressure()
    beginRecording()
    // A core that has seen another engine's requests, or another clock, starts anew.
    const pressure: PressureReader | undefined =
      sampler === undefined ? undefined : pressureReader(sampler.cell, sampler.staleAfterMs)
    setup = buildControl(
      config,
      pressure === undefined ? {} : { pressureSource: pressure },
      recorder,
    )
    if (mode === 'published') {
      link = createEngineLink({
        segment: at,
        scheduler: setup.scheduler,
        rules: setup.rules,
        descriptions: setup.descriptions,
        mode,
        slots: config.slots,
        downstreamPlaces: config.downstreamPlaces,
        onFirstResponse: (c, latencyMs, met) =>
          book.onFirstResponse(
            c,
            latencyMs,
            met,
            rollout.wasObserving(Number(monotonicNs()) / 1e6 - latencyMs),
          ),
        observing: (nowMs) => rollout.isObserving(nowMs),
        onStep: book.onStep,
        onTrouble: (text) => log('warn', text),
        ...(options.peers === undefined ? {} : { peers: options.peers }),
        ...(pressure === undefined ? {} : { pressure }),
      })
      takePicture = options.picture === true ? createPictureTaker(setup.scheduler) : undefined
      const running = link
      running.tick(monotonicNs())
      // A tick beats, and the engine waits for a beat no longer than that.
      const everyMs = Math.min(options.pollMs ?? 2, CONTROLLER_BEAT_MS)
      timer = setInterval(() => running.tick(monotonicNs()), everyMs)
      at.setMode(MODE.published, process.pid)
    } else {
      doorbell = startDoorbell(at)
    }
  }

  const startDoorbell = (at: Segment): Doorbell => {
    const stop = new SharedArrayBuffer(4)
    const data: DoorbellData = {
      path,
      header: at.header,
      address: at.address,
      config,
      answerLimit: options.answerLimit ?? 256,
      spinUs: options.spinUs ?? 0,
      stop,
      record: options.record,
      picture: options.picture === true,
      pressure:
        sampler === undefined
          ? undefined
          : { cell: sampler.cell, staleAfterMs: sampler.staleAfterMs },
    }
    const worker = openWorker('doorbell-worker', data, options.workerFolder)
    const made = { worker, stop: new Int32Array(stop) }
    const lost = (why: string): void => {
      if (doorbell !== made) return
      log('warn', `the doorbell worker ended, the engine is on its own until the next look: ${why}`)
      doorbell = undefined
      void letGo()
    }
    worker.on('message', (message: DoorbellMessage) => {
      if (message.kind === 'report') latest = message.report
      if (message.kind === 'trouble') log('warn', message.text)
    })
    worker.on('error', (error) => lost(error.message))
    worker.on('exit', (code) => lost(`exit code ${code}`))
    return made
  }

  const letGo = async (): Promise<void> => {
    const at = segment
    if (at === undefined) return
    segment = undefined
    at.setMode(MODE.none, 0)
    clearInterval(timer)
    timer = undefined
    link = undefined
    latest = undefined
    endRecording()
    const ending = doorbell
    doorbell = undefined
    if (ending !== undefined) await endDoorbell(ending, at)
    at.close()
  }

  return {
    get mode() {
      return mode
    },
    get link() {
      return link
    },
    report: () => (link === undefined ? latest : linkReport(link, book, takePicture)),
    attach() {
      if (segment !== undefined) return true
      try {
        segment = attachSegment(path)
      } catch (error) {
        if (isHorizonError(error) && error.code === 'ERR_ADAPTERS_SEGMENT_UNAVAILABLE') return false
        throw error
      }
      if (!segment.isEngineAlive()) {
        segment.close()
        segment = undefined
        if (removeIfDead(path)) log('info', `removed ${path}: its engine is dead`)
        return false
      }
      steer(segment)
      log('info', `attached to the engine of process ${segment.header.creatorPid}, ${mode}`)
      return true
    },
    watch() {
      if (segment === undefined) {
        try {
          this.attach()
          refusal = ''
        } catch (error) {
          if (!isHorizonError(error)) throw error
          if (error.message !== refusal) log('warn', error.message)
          refusal = error.message
        }
        return
      }
      if (segment.isEngineAlive()) return
      log(
        'warn',
        `the engine of process ${segment.header.creatorPid} died; waiting for the next one`,
      )
      void letGo().then(() => removeIfDead(path))
    },
    async reload(next) {
      const built = buildControl(next)
      const nextMode = modeOf(built)
      const restart = doorbell !== undefined || nextMode !== mode
      config = next
      setup = built
      mode = nextMode
      book = newBook()
      if (segment === undefined) return
      if (!restart && link !== undefined) {
        // The link keeps its callbacks; a fresh book would be filled by nobody, so the engine is taken up anew.
        const at = segment
        clearInterval(timer)
        link = undefined
        steer(at)
        at.requestResync()
        return
      }
      await letGo()
      this.attach()
    },
    async setShare(share) {
      const nextMode = modeOf(setup, share)
      rollout.share = share
      if (nextMode === mode) return
      mode = nextMode
      if (segment === undefined) return
      await letGo()
      this.attach()
    },
    async stop() {
      await letGo()
      await sampler?.close()
      sampler = undefined
      sampled = ''
    },
  }
}

async function endDoorbell({ worker, stop }: Doorbell, segment: Segment): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve())
    setTimeout(resolve, WORKER_STOP_MS).unref()
  })
  Atomics.store(stop, 0, 1)
  futexAt(segment.address + BigInt(BOUNDARY_OFFSET)).wake(1)
  await stopped
  await worker.terminate()
}
