/**
 * @module
 * The body of a request: what its endpoint wants, of the sizes that the schedule says, with the class's own fields merged in last.
 */
import type { LoadClass } from '../load-class.js'
import { picture, promptOf, spokenWav } from './inputs.js'
import type { LoadSchedule } from './schedule.js'

export function requestBody(
  of: LoadClass,
  schedule: LoadSchedule,
  request: number,
  model: string | undefined,
  seed: number,
): Buffer {
  const prompt = promptOf(schedule.promptTokens[request] as number, seed, request)
  const named = model === undefined ? {} : { model }
  return Buffer.from(
    JSON.stringify({ ...named, ...fields(of, schedule, request, prompt), ...of.body }),
  )
}

function fields(of: LoadClass, schedule: LoadSchedule, request: number, prompt: string): object {
  const answer = schedule.answerTokens[request] as number
  if (of.endpoint === '/v1/audio/speech') {
    const stream = of.stream
      ? { stream: true, stream_format: of.speechStream === 'raw' ? 'audio' : 'sse' }
      : {}
    return { input: prompt, voice: 'default', response_format: 'pcm', ...stream }
  }
  if (of.endpoint === '/v1/images/generations') {
    return { prompt, n: 1, response_format: 'b64_json' }
  }
  const seconds = schedule.audioSeconds[request] as number
  const images = schedule.images[request] as number
  const parts: object[] = []
  if (seconds > 0)
    parts.push({ type: 'input_audio', input_audio: { data: spokenWav(seconds), format: 'wav' } })
  for (let i = 0; i < images; i++)
    parts.push({ type: 'image_url', image_url: { url: picture(of.imagePixels, request + i) } })
  return {
    messages: [
      {
        role: 'user',
        content: parts.length === 0 ? prompt : [...parts, { type: 'text', text: prompt }],
      },
    ],
    stream: of.stream,
    ...(of.modalities === undefined ? {} : { modalities: of.modalities }),
    ...(answer > 0 ? { max_tokens: answer } : {}),
  }
}
