/**
 * The reference: what somebody writes first. One request at a time, one stage after another, everything before anything is
 * shown. `hold(stage)` occupies the one device for the stage's time; a check of outputs alone passes a no-op.
 */
import { asr, denoise, llm, tts, vae } from './stages.js'

export async function faceToFace({ audio, chunks }, hold) {
  await hold('asr')
  const tokens = asr(audio)
  await hold('llm')
  const answer = llm(tokens, chunks)

  const speech = []
  for (let state, last = false; !last; ) {
    await hold('tts')
    const step = tts(answer, state)
    speech.push(step.audio)
    state = step.cache
    last = step.last
  }

  const video = []
  const caches = {}
  for (const chunk of speech) {
    let latent = chunk
    for (const step of [1, 2, 3, 4]) {
      await hold(`dit${step}`)
      const { output, cache } = denoise(step, latent, caches[step])
      caches[step] = cache
      latent = output
    }
    await hold('vae')
    const { output, cache } = vae(latent, caches.vae)
    caches.vae = cache
    video.push(output)
  }
  return video
}
