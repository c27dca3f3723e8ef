/**
 * The pipeline's nodes as a program for the interpreter: one JSON line per execution of a node, see skills/deploy.
 */
import { createInterface } from 'node:readline'
import { asr, denoise, llm, tts, vae } from './stages.js'

const nodes = {
  asr: ({ input }) => ({ output: { tokens: asr(input.audio), chunks: input.chunks } }),
  llm: ({ inputs }) => ({ output: llm(inputs.asr.tokens, inputs.asr.chunks) }),
  tts: ({ inputs, state }) => {
    const { audio, cache, last } = tts(inputs.llm, state.tts_cache)
    return { output: audio, state: { tts_cache: cache }, last }
  },
  vae: ({ inputs, state }) => {
    const { output, cache } = vae(inputs['s2v/dit4'], state['s2v/vae_cache'])
    return { output, state: { 's2v/vae_cache': cache } }
  },
}
for (const step of [1, 2, 3, 4]) {
  nodes[`dit${step}`] = ({ inputs, state }) => {
    const name = `s2v/kv${step}`
    const { output, cache } = denoise(step, Object.values(inputs)[0], state[name])
    return { output, state: { [name]: cache } }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, call } = JSON.parse(line)
  try {
    const result = nodes[call.path.split('/').at(-1)](call)
    process.stdout.write(`${JSON.stringify({ id, result })}\n`)
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ id, error: String(error) })}\n`)
  }
}
