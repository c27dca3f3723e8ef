/**
 * A deployment as a backend. `deployment.json` beside this file says how: `sequential` is the reference; `streaming` passes
 * each chunk on as soon as it is made, on the device that `devices` gives each stage (one for all by default).
 */
import { readFileSync } from 'node:fs'
import { serve } from './backend.js'
import { openDevice } from './device.js'
import { faceToFace } from './reference.js'
import { asr, denoise, HOLD_MS, llm, tts, vae } from './stages.js'

const deployment = JSON.parse(readFileSync(new URL('./deployment.json', import.meta.url), 'utf8'))
const names = new Set(Object.keys(HOLD_MS).map((stage) => deployment.devices[stage] ?? 'd0'))
const devices = new Map([...names].map((name) => [name, openDevice()]))
const deviceOf = (stage) => devices.get(deployment.devices[stage] ?? 'd0')
const hold = (stage, batch) => deviceOf(stage).hold(stage, batch)

/** A stage of the chain: takes chunks in order, one at a time, and holds its device for each. */
function chain(stages, emit) {
  const tails = stages.map(() => Promise.resolve())
  const push = (index, batch, chunk) => {
    const stage = stages[index]
    if (stage === undefined) return emit(chunk)
    // A stage starts its next chunk when it is done with the last one; the chunk then moves on by itself.
    const previous = tails[index]
    const run = previous.then(async () => {
      await hold(stage.name, batch)
      return stage.compute(chunk)
    })
    tails[index] = run.then(() => {})
    return run.then((output) => push(index + 1, batch, output))
  }
  return (batch, chunk) => push(0, batch, chunk)
}

function stateful(name, compute) {
  let cache
  return {
    name,
    compute: (chunk) => {
      const result = compute(chunk, cache)
      cache = result.cache
      return result.output
    },
  }
}

async function stream({ audio, chunks }, emit) {
  await hold('asr')
  const tokens = asr(audio)
  await hold('llm')
  const answer = llm(tokens, chunks)
  const video = chain(
    [
      ...[1, 2, 3, 4].map((step) => stateful(`dit${step}`, (x, cache) => denoise(step, x, cache))),
      stateful('vae', vae),
    ],
    emit,
  )
  const shown = []
  for (let state, last = false, batch = 0; !last; batch++) {
    await hold('tts', batch)
    const step = tts(answer, state)
    state = step.cache
    last = step.last
    shown.push(video(batch, step.audio))
  }
  await Promise.all(shown)
}

async function sequential(input, emit) {
  for (const chunk of await faceToFace(input, hold)) emit(chunk)
}

await serve(deployment.mode === 'streaming' ? stream : sequential, async () => {
  for (const device of devices.values()) await device.close()
})
