/**
 * @module
 * One controller for one engine: waits for its segment, attaches, steers, notices when the engine dies, and starts over. Whatever
 * happens to it, the engine goes on; whatever happens to the engine, it waits for the next one.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { removeIfDead } from '../adapters/discover.js'
import { BOUNDARY_OFFSET, MODE } from '../adapters/layout.js'
import { attachSegment, type Segment } from '../adapters/segment.js'
import type { HorizonConfig } from '../config.js'
import { HorizonError, isHorizonError } from '../core/errors.js'
import { futexAt } from '../native/futex.js'
import { buildControl, type ControlSetup } from './control-setup.js'
import type { DoorbellData, DoorbellMessage } from './doorbell-worker.js'
import { createEngineLink, type EngineLink } from './engine-link.js'
import { type LinkReport, linkReport } from './link-report.js'
import { createMetricsBook, type MetricsBook } from './metrics-book.js'
import { monotonicNs } from './monotonic-clock.js'

export interface ControllerOptions {
  readonly path: string
  readonly config: HorizonConfig
  /** `auto` is published where the policy compiles to the table, lockstep where it does not. @default 'auto' */
  readonly mode?: 'auto' | 'published' | 'lockstep'
  /** How often events are read and the state is renewed, ms. @default 2 */
  readonly pollMs?: number
  /** Most requests named in a lockstep answer. @default 256 */
  readonly answerLimit?: number
  /** How long the doorbell worker looks before it sleeps, µs. @default 0 */
  readonly spinUs?: number
  /** The compiled doorbell worker, for a program that bundles this one. @default beside this module */
  readonly workerFile?: URL
  /** Gets one line per event worth telling. */
  readonly log: (level: 'info' | 'warn', text: string) => void
}

export interface Controller {
  /** The mode in force. */
  readonly mode: 'published' | 'lockstep'
  /** The engine's state, or undefined while none is attached. */
  report(): LinkReport | undefined
  /** Tries once to attach; true when attached. Wrong versions and owners throw. */
  attach(): boolean
  /** Looks after the engine: attaches when there is one, lets go when it has died. Call about every 200 ms. */
  watch(): void
  /** Another configuration; refused, with the old one kept, when it does not build. */
  reload(config: HorizonConfig): Promise<void>
  /** Lets go of the engine, which is on its own from then on. */
  stop(): Promise<void>
}

const WORKER_STOP_MS = 1000

export function createController(options: ControllerOptions): Controller {
  const { path, log } = options
  let config = options.config
  let setup: ControlSetup = buildControl(config)
  let segment: Segment | undefined
  let link: EngineLink | undefined
  let timer: NodeJS.Timeout | undefined
  let worker: Worker | undefined
  let latest: LinkReport | undefined
  let book: MetricsBook = newBook()

  const modeOf = (of: ControlSetup): 'published' | 'lockstep' => {
    const wanted = options.mode ?? 'auto'
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

  function newBook(): MetricsBook {
    return createMetricsBook(Object.keys(config.classes))
  }

  const steer = (at: Segment): void => {
    // A core that has seen another engine's requests, or another clock, starts anew.
    setup = buildControl(config)
    if (mode === 'published') {
      link = createEngineLink({
        segment: at,
        scheduler: setup.scheduler,
        rules: setup.rules,
        descriptions: setup.descriptions,
        mode,
        onFirstResponse: book.onFirstResponse,
        onStep: book.onStep,
      })
      const running = link
      running.tick(monotonicNs())
      timer = setInterval(() => running.tick(monotonicNs()), options.pollMs ?? 2)
      at.setMode(MODE.published, process.pid)
    } else {
      Atomics.store(new Uint32Array(at.buffer), (BOUNDARY_OFFSET + 68) / 4, 0)
      worker = startWorker(at)
    }
  }

  const startWorker = (at: Segment): Worker => {
    const made = openWorker(
      {
        path,
        header: at.header,
        address: at.address,
        config,
        answerLimit: options.answerLimit ?? 256,
        spinUs: options.spinUs ?? 0,
      },
      options.workerFile,
    )
    made.on('message', (message: DoorbellMessage) => {
      if (message.kind === 'report') latest = message.report
    })
    made.on('error', (error) => {
      log(
        'warn',
        `the doorbell worker failed, the engine is on its own until the next look: ${error.message}`,
      )
      worker = undefined
      void letGo()
    })
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
    const ending = worker
    worker = undefined
    if (ending !== undefined) await endWorker(ending, at)
    at.close()
  }

  return {
    get mode() {
      return mode
    },
    report: () => (link === undefined ? latest : linkReport(link, book)),
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
        this.attach()
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
      const restart = worker !== undefined || nextMode !== mode
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
    stop: letGo,
  }
}

/** From sources the worker loads a compiler first; a package has it compiled, beside the entry or in the folder of this room. */
function openWorker(workerData: DoorbellData, given: URL | undefined): Worker {
  if (given !== undefined) return new Worker(given, { workerData })
  if (import.meta.url.endsWith('.ts')) {
    const source = new URL('./doorbell-worker.ts', import.meta.url).href
    const code = `import('tsx/esm/api').then((tsx) => { tsx.register(); return import(${JSON.stringify(source)}) })`
    return new Worker(code, { eval: true, workerData })
  }
  for (const place of [
    './controller/doorbell-worker.js',
    '../controller/doorbell-worker.js',
    './doorbell-worker.js',
  ]) {
    const file = new URL(place, import.meta.url)
    if (existsSync(fileURLToPath(file))) return new Worker(file, { workerData })
  }
  throw new HorizonError(
    'ERR_CONTROLLER_WORKER',
    'the doorbell worker is missing from this installation',
    {
      hint: 'Install the package again',
    },
  )
}

async function endWorker(worker: Worker, segment: Segment): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve())
    setTimeout(resolve, WORKER_STOP_MS).unref()
  })
  Atomics.store(new Uint32Array(segment.buffer), (BOUNDARY_OFFSET + 68) / 4, 1)
  futexAt(segment.address + BigInt(BOUNDARY_OFFSET)).wake(1)
  await stopped
  await worker.terminate()
}
