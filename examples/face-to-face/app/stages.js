/**
 * The stages of the face-to-face agent as plain functions: small deterministic arithmetic in the place of the models, with
 * the same data dependences. Every stage takes what it reads and returns what it writes; the chunks are checked to the bit.
 */

/** Milliseconds each stage holds its device, declared (not measured): the proportions are assumed, see README. */
export const HOLD_MS = {
  asr: 50,
  llm: 150,
  tts: 30,
  dit1: 15,
  dit2: 15,
  dit3: 15,
  dit4: 15,
  vae: 12,
}

/** Samples of one audio chunk, and numbers of one video chunk. */
const CHUNK = 16

/** Speech to tokens. */
export function asr(audio) {
  return audio.map((sample, i) => Math.round(1000 * Math.sin(sample + i)))
}

/** Tokens to the tokens of an answer of `numChunks` chunks. */
export function llm(tokens, numChunks) {
  const seed = tokens.reduce((sum, token) => (31 * sum + token) % 65_521, 7)
  return Array.from({ length: numChunks * 2 }, (_, i) => (seed * (i + 3) * 17) % 4096)
}

/** Next audio chunk of the answer. The cache holds how far it is and the voice's phase. */
export function tts(answer, cache) {
  const { at, phase } = cache ?? { at: 0, phase: 0.25 }
  const pitch = (answer[at] + answer[at + 1]) / 4096
  const audio = Array.from({ length: CHUNK }, (_, i) => Math.sin(phase + pitch * (i + 1)))
  const cacheAfter = { at: at + 2, phase: (phase + pitch * CHUNK) % (2 * Math.PI) }
  return { audio, cache: cacheAfter, last: cacheAfter.at >= answer.length }
}

/** One denoising step with a cache of its own. Steps are no permutation of each other: each has its own weight. */
export function denoise(step, latent, cache) {
  const before = cache ?? latent.map(() => 0)
  const output = latent.map((x, i) => Math.tanh(x * (1 + step / 8) + 0.3 * before[i] + step / 100))
  return { output, cache: before.map((x, i) => 0.6 * x + 0.4 * output[i]) }
}

/** Latents to a chunk of video. The decoder blends in the last latent it saw. */
export function vae(latent, cache) {
  const before = cache ?? latent.map(() => 0)
  return { output: latent.map((x, i) => x * 0.7 + before[i] * 0.3), cache: latent }
}
