import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTwin, parseLoadClasses, type Twin, twinSpec } from '../../src/live/index.js'
import { createTwinEngine } from '../../src/live/twin/engine.js'
import { calibrateTwin } from '../../src/live/twin/twin-calibration.js'
import { schedulerByPolicy } from '../../src/live/twin/twin-scheduler.js'
import { createSimulation } from '../../src/sim/index.js'

let twin: Twin
beforeAll(async () => {
  twin = await createTwin({ spec: twinSpec({ silenceMs: 300 }) })
})
afterAll(() => twin.close())

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

interface Chunk {
  choices: { delta: Record<string, unknown>; finish_reason: string | null }[]
  modality?: string
  metrics?: { stage_metrics: Record<string, Record<string, number>> }
}
async function events(response: Response): Promise<Chunk[]> {
  const text = await response.text()
  const data = text.split('\n').filter((line) => line.startsWith('data: '))
  expect(data.at(-1)).toBe('data: [DONE]')
  return data.slice(0, -1).map((line) => JSON.parse(line.slice(6)) as Chunk)
}
const chat = (rest: object) => ({
  messages: [{ role: 'user', content: 'Tell me something.' }],
  stream: true,
  max_tokens: 6,
  ...rest,
})
/** Polls: nothing here may depend on how long something takes. */
async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 600 && !holds(); i++) await new Promise((done) => setTimeout(done, 50))
  expect(holds()).toBe(true)
}

describe('the twin', () => {
  it('streams text token by token, with stage times when asked', async () => {
    const chunks = await events(
      await post(`${twin.url}/v1/chat/completions`, chat({ return_stage_metrics: true })),
    )
    const text = chunks.map((of) => of.choices[0]?.delta.content ?? '').join('')
    expect(text).toHaveLength(24)
    expect(chunks.every((of) => of.modality === 'text')).toBe(true)
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop')
    const stage = chunks.at(-1)?.metrics?.stage_metrics[0]
    expect(stage?.num_tokens_out).toBe(6)
    // The model's own time, not that of the machine this runs on.
    expect(stage?.serving_time_to_first_output_ms).toBeCloseTo(9.2, 0)
  })

  it('streams speech as whole WAVs in delta.content, text first, silent where the spec says so', async () => {
    const chunks = await events(
      await post(`${twin.url}/v1/chat/completions`, chat({ modalities: ['text', 'audio'] })),
    )
    const kinds = chunks.map((of) => of.modality)
    expect(kinds.indexOf('audio')).toBeGreaterThan(kinds.indexOf('text'))
    const sound = chunks.filter((of) => of.modality === 'audio' && of.choices[0]?.delta.content)
    const wavs = sound.map((of) => Buffer.from(String(of.choices[0]?.delta.content), 'base64'))
    for (const wav of wavs) {
      expect(wav.toString('ascii', 0, 4)).toBe('RIFF')
      expect(wav.readUInt32LE(40)).toBe(wav.length - 44)
    }
    const first = wavs[0] as Buffer
    const silentBytes = 24 * 300 * 2
    expect(first.subarray(44, 44 + silentBytes).every((byte) => byte === 0)).toBe(true)
    expect(first.readInt16LE(44 + silentBytes + 20)).not.toBe(0)
  })

  it('answers in the other dialect, at once, raw, as events and with an image', async () => {
    const other = await createTwin({ dialect: 'sglang-omni', policy: 'vanilla' })
    try {
      const chunks = await events(
        await post(`${other.url}/v1/chat/completions`, chat({ modalities: ['text', 'audio'] })),
      )
      const audio = chunks.flatMap((of) =>
        of.choices[0]?.delta.audio ? [of.choices[0].delta] : [],
      )
      expect(audio.length).toBeGreaterThan(0)
      expect(chunks.every((of) => of.modality === undefined)).toBe(true)
    } finally {
      await other.close()
    }
    const whole = (await (
      await post(
        `${twin.url}/v1/chat/completions`,
        chat({ stream: false, modalities: ['text', 'audio'] }),
      )
    ).json()) as { choices: { message: { content?: string; audio?: { data: string } } }[] }
    expect(whole.choices[0]?.message.content).toHaveLength(24)
    expect(whole.choices[1]?.message.audio?.data.length).toBeGreaterThan(1000)

    const input = 'Twelve words of text that somebody wants to be read aloud now.'
    const raw = await post(`${twin.url}/v1/audio/speech`, {
      input,
      stream: true,
      stream_format: 'audio',
      response_format: 'pcm',
    })
    const units = Math.round(Math.ceil(input.length / 4) * 0.6)
    expect((await raw.arrayBuffer()).byteLength).toBe(units * 24_000)
    const sse = await (await post(`${twin.url}/v1/audio/speech`, { input, stream: true })).text()
    expect(sse.match(/^event: speech\.audio\.delta$/gm)).toHaveLength(units)
    expect(sse).toContain('event: speech.audio.done')

    const image = (await (
      await post(`${twin.url}/v1/images/generations`, { prompt: 'a cat', size: '64x32' })
    ).json()) as { data: { b64_json: string }[] }
    const png = Buffer.from(image.data[0]?.b64_json ?? '', 'base64')
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([64, 32])
  })

  it('lists its classes as load takes them, and metrics by the names of the engines', async () => {
    const listed = await (await fetch(`${twin.url}/horizonserve/classes`)).json()
    const classes = parseLoadClasses(listed, 'classes')
    expect(classes.map((of) => [of.name, of.slo.metric])).toEqual([
      ['text', 'ttft'],
      ['speech', 'ttfa'],
      ['image', 'e2el'],
    ])
    const page = await (await fetch(`${twin.url}/metrics`)).text()
    for (const name of [
      'vllm:num_requests_running',
      'vllm_omni:num_requests_waiting',
      'horizonserve_headroom_ratio{class="speech"}',
      'horizonserve_expected_first_response_ms{class="text"}',
      'horizonserve_waiting 0',
      'horizonserve_in_flight{class="image"}',
    ])
      expect(page).toContain(name)
  })

  it('frees what a client leaves behind, wherever it was', async () => {
    const before = twin.tallies.classes.reduce((sum, of) => sum + of.aborted, 0)
    const bodies = [chat({ max_tokens: 5000 }), chat({ max_tokens: 500, modalities: ['audio'] })]
    const open = Array.from({ length: 12 }, (_, i) => {
      const sent = httpRequest(`${twin.url}/v1/chat/completions`, { method: 'POST' })
      sent.on('error', () => undefined)
      sent.end(JSON.stringify(bodies[i % 2]))
      return sent
    })
    await until(() => twin.engine.inFlight === 12)
    for (const sent of open) sent.destroy()
    await until(() => twin.engine.inFlight === 0)
    expect(twin.engine.waiting).toBe(0)
    expect(twin.engine.kvFraction).toBe(0)
    expect(twin.engine.horizon.size).toBe(0)
    const after = twin.tallies.classes.reduce((sum, of) => sum + of.aborted, 0)
    expect(after - before).toBe(12)
    await events(await post(`${twin.url}/v1/chat/completions`, chat({})))
  })

  it('refuses what it should, in words', async () => {
    const small = await createTwin({
      policy: 'vanilla',
      key: 'secret',
      limits: { maxBodyBytes: 2000 },
      maxRequests: 1,
    })
    const url = `${small.url}/v1/chat/completions`
    const key = { authorization: 'Bearer secret' }
    try {
      expect((await post(url, chat({}))).status).toBe(401)
      expect((await post(url, chat({}), { authorization: 'Bearer secreT' })).status).toBe(401)
      expect((await post(url, { ...chat({}), x: 'y'.repeat(3000) }, key)).status).toBe(413)
      const bad = await post(url, { messages: 'hello' }, key)
      expect(bad.status).toBe(400)
      expect(await bad.text()).toContain('messages')
      const video = await createTwin({ spec: twinSpec({ base: 'bagel' }), policy: 'vanilla' })
      const refused = await post(
        `${video.url}/v1/chat/completions`,
        chat({ modalities: ['audio'] }),
      )
      expect(await refused.text()).toContain('it serves t2t, i2t, t2i, i2i')
      await video.close()
      const held = post(url, chat({ max_tokens: 100_000 }), key)
      await until(() => small.engine.inFlight === 1)
      const full = await post(url, chat({}), key)
      expect([full.status, full.headers.get('retry-after')]).toEqual([503, '1'])
      await small.close()
      // Closing may end the held request before it was answered.
      await held.then((answer) => answer.text()).catch(() => undefined)
    } finally {
      await small.close()
    }
  })

  it('refuses with 429 what the policy sheds, and goes on', async () => {
    const busy = await createTwin({
      spec: twinSpec({ set: { 'shared.slots': 1 } }),
      policy: 'horizonserve',
      sheds: true,
    })
    try {
      const answers = await Promise.all(
        Array.from({ length: 30 }, () =>
          post(`${busy.url}/v1/chat/completions`, chat({ max_tokens: 40 })),
        ),
      )
      const refused = answers.filter((of) => of.status === 429)
      expect(refused.length).toBeGreaterThan(0)
      expect(answers.filter((of) => of.status === 200).length).toBe(30 - refused.length)
      expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(await refused[0]?.text()).toContain('within')
      for (const of of answers) if (of.status === 200) await of.text()
      await until(() => busy.engine.inFlight === 0)
      expect(busy.tallies.rejected).toBe(refused.length)
      expect(busy.engine.waiting).toBe(0)
      expect(busy.engine.horizon.size).toBe(0)
    } finally {
      await busy.close()
    }
  })

  it.each([
    ['free', 4],
    ['until-accepted', 1],
    ['until-done', 0],
  ] as const)(
    'hands over %s: long requests that wait downstream leave %i of four places',
    (handOver, left) => {
      const spec = twinSpec({ handOver, set: { 'image.slots': 1, 'handOver.queuePlaces': 0 } })
      const simulation = createSimulation()
      const { horizon, sharing, classNames } = schedulerByPolicy(
        spec,
        calibrateTwin(spec),
        'vanilla',
        64,
      )
      const engine = createTwinEngine({ spec, sharing, horizon, classNames, simulation, rows: 64 })
      const request = {
        classIndex: 2,
        promptTokens: 16,
        answerTokens: 1,
        audioSeconds: 0,
        images: 0,
        videos: 0,
      }
      const ended: number[] = []
      for (let i = 0; i < 4; i++)
        engine.submit(request, { end: ({ finishedMs }) => ended.push(finishedMs) })
      simulation.run(100)
      expect(4 - engine.numRunning).toBe(left)
      simulation.run()
      expect(ended).toHaveLength(4)
      expect([engine.inFlight, engine.numRunning, engine.kvFraction, horizon.size]).toEqual([
        0, 0, 0, 0,
      ])
    },
  )

  it('serves the classes of a configuration, and says which one is missing', async () => {
    const config = {
      classes: { chat: { output: 'text', sloMs: 300 }, voice: { output: 'audio', sloMs: 900 } },
      profile: {
        chat: { shared: { fixedMs: 10 } },
        voice: { shared: { fixedMs: 100 }, downstream: { fixedMs: 50 } },
      },
    } as const
    await expect(createTwin({ config })).rejects.toThrow(/output image/)
    const spec = twinSpec({ base: 'mimo-audio' })
    const served = await createTwin({ config, spec })
    expect(served.engine.classNames).toEqual(['chat', 'chat', 'voice', 'voice'])
    expect(served.classes.map((of) => of.slo.ms)).toEqual([300, 300, 900, 900])
    await served.close()
    expect(() => twinSpec({ set: { 'shared.slotz': 1 } })).toThrow(/shared.slotz/)
    expect(() => twinSpec({ set: { 'shared.slots': 0 } })).toThrow(/at least 1/)
    expect(() => twinSpec({ base: 'none' })).toThrow(/base/)
  })
})
