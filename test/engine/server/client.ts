/**
 * @module
 * A client of the OpenAI-compatible server: one streamed chat, with the time of its first text or its first sound.
 */

/** What one client saw. */
export interface Seen {
  readonly id: string
  readonly kind: 'text' | 'audio'
  /** From sending to the first text or sound, ms; undefined without one. */
  firstMs?: number
  /** Bytes of sound. */
  soundBytes: number
  status: 'answered' | 'aborted' | 'failed'
  error?: string
}

export interface Ask {
  readonly id: string
  readonly kind: 'text' | 'audio'
  readonly maxTokens: number
  /** Leave this long after sending, or at the first output. */
  readonly leave?: { readonly afterMs: number } | 'first'
  readonly prompt?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly more?: Readonly<Record<string, unknown>>
}

/** Sends one chat and reads its stream to the end. Never rejects. */
export async function chat(url: string, model: string, ask: Ask): Promise<Seen> {
  const seen: Seen = { id: ask.id, kind: ask.kind, soundBytes: 0, status: 'failed' }
  const stop = new AbortController()
  const leave = ask.leave
  const timer =
    typeof leave === 'object' ? setTimeout(() => stop.abort(), leave.afterMs) : undefined
  const sent = performance.now()
  try {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(240_000)]),
      headers: { 'content-type': 'application/json', 'x-request-id': ask.id, ...ask.headers },
      body: JSON.stringify({
        model,
        stream: true,
        max_tokens: ask.maxTokens,
        messages: [{ role: 'user', content: ask.prompt ?? 'w1 w2 w3 w4' }],
        modalities: [ask.kind],
        ...ask.more,
      }),
    })
    if (!answer.ok) {
      seen.error = `${answer.status} ${(await answer.text()).slice(0, 300)}`
      return seen
    }
    const decoder = new TextDecoder()
    let rest = ''
    for await (const part of answer.body!) {
      rest += decoder.decode(part, { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        if (!line.startsWith('data: ')) continue
        if (line.includes('[DONE]')) {
          seen.status = 'answered'
          continue
        }
        const chunk = JSON.parse(line.slice(6)) as Chunk
        if (chunk.error !== undefined) seen.error = JSON.stringify(chunk.error).slice(0, 300)
        const content = chunk.choices?.[0]?.delta?.content ?? ''
        if (content === '') continue
        seen.firstMs ??= performance.now() - sent
        if (ask.kind === 'audio') seen.soundBytes += wavBytes(content)
        if (leave === 'first') stop.abort()
      }
    }
    if (seen.error !== undefined) seen.status = 'failed'
  } catch (error) {
    seen.status = stop.signal.aborted ? 'aborted' : 'failed'
    seen.error = error instanceof Error ? error.message : String(error)
  } finally {
    clearTimeout(timer)
  }
  return seen
}

interface Chunk {
  readonly error?: unknown
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[]
}

/** Bytes of samples in a WAV file in base64; 0 for anything else. */
function wavBytes(text: string): number {
  const bytes = Buffer.from(text, 'base64')
  return bytes.subarray(0, 4).toString('latin1') === 'RIFF' ? bytes.length - 44 : 0
}
