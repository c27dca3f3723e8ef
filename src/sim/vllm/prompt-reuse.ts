/**
 * @module
 * Which prompts continue an earlier one, and how far. Conversations come back turn by turn, so with prefix caching a prompt may find most of
 * itself computed; the recorded runs keep lengths but no text. A run shows it all the same: a step whose prompt was cached ends early. What
 * is measured so is a property of the workload, taken from one run to replay another, never from the run that is predicted.
 */
import { matchPrompts } from './match-prompts.js'
import type { RecordedRequest } from './recorded-run.js'
import type { StepInterval } from './step-residuals.js'

/** Per request: the earlier request whose prompt it continues (-1 for none) and the whole tokens they share. */
export interface PromptReuse {
  readonly prefixOf: Int32Array
  readonly prefixTokens: Int32Array
}

/** Savings below this many tokens are within the scatter of kernel prices. */
const LEAST_TOKENS = 160

/**
 * Reads reuse off a run's intervals, priced with nothing cached. A saving is charged to the longest prompt that ended there, and explained by the earlier prompt of the nearest length:
 * a later turn contains the earlier turn's prompt whole, and more only where a reply came back word for word.
 */
export function measureReuse(
  run: readonly RecordedRequest[],
  intervals: readonly StepInterval[],
  options: {
    /** Marginal milliseconds of a prompt token. */
    readonly tokenMs: number
    readonly blockSize: number
  },
): PromptReuse {
  const { tokenMs, blockSize } = options
  const prefixOf = new Int32Array(run.length).fill(-1)
  const prefixTokens = new Int32Array(run.length)
  for (const interval of intervals) {
    const saved = (interval.priceMs - interval.realMs) / tokenMs
    if (interval.promptSteps === 0 || saved < LEAST_TOKENS) continue
    let longest = -1
    for (const request of interval.firsts)
      if (longest < 0 || promptOf(run, request) > promptOf(run, longest)) longest = request
    if (longest < 0) continue
    const limit = promptOf(run, longest) - 1
    let donor = -1
    for (let i = 0; i < longest; i++) {
      const shared = wholeBlocks(Math.min(promptOf(run, i), limit), blockSize)
      const best =
        donor < 0 ? -Infinity : wholeBlocks(Math.min(promptOf(run, donor), limit), blockSize)
      if (Math.abs(shared - saved) <= Math.abs(best - saved)) donor = i
    }
    if (donor < 0) continue
    prefixOf[longest] = donor
    prefixTokens[longest] = wholeBlocks(
      Math.min(promptOf(run, donor), limit, saved + blockSize),
      blockSize,
    )
  }
  return { prefixOf, prefixTokens }
}

/** Carries the reuse seen in one run over to another that asked the same conversations. */
export function carryReuse(
  reuse: PromptReuse,
  source: readonly RecordedRequest[],
  target: readonly RecordedRequest[],
  blockSize: number,
): PromptReuse {
  const counterpart = matchPrompts(
    source.map((r) => r.promptTokens),
    target.map((r) => r.promptTokens),
  )
  const backwards = new Int32Array(source.length).fill(-1)
  counterpart.forEach((from, to) => {
    if (from >= 0) backwards[from] = to
  })
  const prefixOf = new Int32Array(target.length).fill(-1)
  const prefixTokens = new Int32Array(target.length)
  counterpart.forEach((from, to) => {
    if (from < 0) return
    const donor = reuse.prefixOf[from] as number
    const there = donor < 0 ? -1 : (backwards[donor] as number)
    if (there < 0 || there >= to) return
    const scale = promptOf(target, there) / promptOf(source, donor)
    const tokens = Math.min(
      (reuse.prefixTokens[from] as number) * scale,
      promptOf(target, there),
      promptOf(target, to) - 1,
    )
    prefixOf[to] = there
    prefixTokens[to] = wholeBlocks(tokens, blockSize)
  })
  return { prefixOf, prefixTokens }
}

function promptOf(run: readonly RecordedRequest[], request: number): number {
  return (run[request] as RecordedRequest).promptTokens
}

function wholeBlocks(tokens: number, blockSize: number): number {
  return Math.max(0, Math.floor(tokens / blockSize) * blockSize)
}
