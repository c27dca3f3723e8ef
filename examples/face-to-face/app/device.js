/**
 * An exclusive device: a worker thread that runs one job at a time and holds itself for the job's time. The time is a wait,
 * not work: this machine has two cores, and eight devices must be held at once. A stage holds a device, not a core.
 */
import { Worker } from 'node:worker_threads'
import { HOLD_MS } from './stages.js'

/** Shrinks or stretches all holds alike, for quick tests. */
const SCALE = Number(process.env.FACE_TO_FACE_SCALE ?? 1)

const HOLDER = `
import { parentPort } from 'node:worker_threads'
const never = new Int32Array(new SharedArrayBuffer(4))
parentPort.on('message', (untilMs) => {
  // The end was fixed when the job began, so a late wake-up does not lengthen the hold.
  const left = untilMs - (performance.timeOrigin + performance.now())
  if (left > 0) Atomics.wait(never, 0, 0, left)
  parentPort.postMessage(0)
})
`

export function openDevice() {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(HOLDER)}`))
  // Waiting jobs: earliest batch first, then the stage nearest to the output.
  const waiting = []
  let running
  // When the device is free again by its own clock.
  let freeAt = 0

  const startNext = () => {
    if (running !== undefined || waiting.length === 0) return
    waiting.sort((a, b) => a.batch - b.batch || b.order - a.order)
    running = waiting.shift()
    // A job that was waiting began when the one before it ended, however late this thread hears of that end.
    const start = running.since <= freeAt ? freeAt : now()
    freeAt = start + HOLD_MS[running.stage] * SCALE
    worker.postMessage(freeAt)
  }
  worker.on('message', () => {
    running.resolve()
    // What this job makes ready joins the queue before the device is given away; until then it counts as held.
    setImmediate(() => {
      running = undefined
      startNext()
    })
  })
  return {
    hold: (stage, batch = 0) =>
      new Promise((resolve) => {
        waiting.push({ stage, batch, order: ORDER.indexOf(stage), since: now(), resolve })
        startNext()
      }),
    close: () => worker.terminate(),
  }
}

const ORDER = Object.keys(HOLD_MS)

/** Milliseconds on the clock that all threads share. */
const now = () => performance.timeOrigin + performance.now()
