/**
 * @module
 * The engine's own metrics page, to be served after ours: a stock picker scrapes one port per endpoint. The page is untrusted. It is
 * taken whole or not at all, and what it says under our own names is left out, so that no metric stands there twice.
 */

/** Who asks with it wants a page that is not merged once more. */
export const MERGED_HEADER = 'x-horizonserve-merged'

export interface EngineMetricsLimits {
  /** @default 1000 */
  readonly timeoutMs?: number
  /** @default 8 MiB */
  readonly maxBytes?: number
}

const UP = 'horizonserve_engine_metrics_up'
/** `name{` or `name `, a comment, or nothing. */
const LINE = /^(?:$|#|[a-zA-Z_:][a-zA-Z0-9_:]*[{ ])/
const OURS = /^(?:# (?:HELP|TYPE|UNIT) )?horizonserve_/
const END = /^# EOF\b/

/** Never throws: a gauge tells whether the engine answered, and where it did its lines follow. */
export async function engineMetrics(url: URL, limits: EngineMetricsLimits = {}): Promise<string> {
  const lines = await fetchLines(url, limits).catch(() => undefined)
  const head = `# HELP ${UP} Whether the metrics page of the engine was read.\n# TYPE ${UP} gauge\n${UP} ${lines === undefined ? 0 : 1}\n`
  return lines === undefined || lines.length === 0 ? head : `${head}${lines.join('\n')}\n`
}

async function fetchLines(
  url: URL,
  { timeoutMs = 1000, maxBytes = 8 * 2 ** 20 }: EngineMetricsLimits,
): Promise<string[] | undefined> {
  const answer = await fetch(url, {
    headers: { accept: 'text/plain;version=0.0.4', [MERGED_HEADER]: '1' },
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!answer.ok || answer.body === null) {
    await answer.body?.cancel()
    return undefined
  }
  const parts: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop early cancels the answer.
  for await (const part of answer.body) {
    bytes += part.byteLength
    if (bytes > maxBytes) return undefined
    parts.push(part)
  }
  const lines = Buffer.concat(parts).toString().split(/\r?\n/)
  if (!lines.every((line) => LINE.test(line))) return undefined
  return lines.filter((line) => line !== '' && !OURS.test(line) && !END.test(line))
}
