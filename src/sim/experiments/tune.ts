/**
 * @module
 * Searches the numbers of a HorizonServe policy in the simulator for a declared objective: random candidates first, then steps from the
 * best along one number at a time. What was found is measured again on seeds that the search never saw; the difference between the two
 * is what was luck.
 */
import { createRng } from '../rng.js'
import { type Estimate, paired } from './statistics.js'

export interface Candidate {
  readonly uGuard: number
  readonly longPathCap: number
  readonly nMin: number
  readonly nMax: number
  readonly m: number
  /** Scap as a share of the calibrated one; the other rows of the ladder follow. */
  readonly ladderScale: number
}

/** Values a number may take. */
export const SPACE: Readonly<Record<keyof Candidate, readonly number[]>> = {
  uGuard: [1, 1.25, 1.5, 2, 2.5, 3, 4],
  longPathCap: [1, 2, 3, 4, 8, 16],
  nMin: [0, 1, 2, 4, 8],
  nMax: [2, 4, 8, 12, 16],
  m: [1, 2, 3, 4],
  ladderScale: [0.6, 0.8, 1, 1.2, 1.4],
}

export interface TuneOptions {
  /** Higher is better; same candidate and seed, same value. */
  readonly evaluate: (candidate: Candidate, seed: number) => number
  readonly start: Candidate
  readonly seeds: readonly number[]
  readonly heldOut: readonly number[]
  /** Most candidates to try, the start not counted. */
  readonly trials: number
  readonly seed: number
  readonly onProgress?: (tried: number, best: number) => void
}

export interface Tuned {
  readonly best: Candidate
  readonly tried: number
  /** Best minus start, on the seeds of the search and on the others. */
  readonly gain: Estimate
  readonly heldOutGain: Estimate
  /** Share of the gain that survives; NaN without a gain. */
  readonly survives: number
}

export function tune(options: TuneOptions): Tuned {
  const { start, seeds, heldOut, trials } = options
  const score = (candidate: Candidate, on: readonly number[]): number[] =>
    on.map((seed) => options.evaluate(candidate, seed))
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const tried = new Set([JSON.stringify(start)])
  let best = start
  const startValues = score(start, seeds)
  let bestValues = startValues
  let count = 0

  function attempt(candidate: Candidate): boolean {
    const key = JSON.stringify(candidate)
    if (candidate.nMax < candidate.nMin || candidate.nMax + candidate.nMin === 0) return false
    if (tried.has(key) || count >= trials) return false
    tried.add(key)
    count++
    const values = score(candidate, seeds)
    const better = mean(values) > mean(bestValues)
    if (better) {
      best = candidate
      bestValues = values
    }
    options.onProgress?.(count, mean(bestValues))
    return better
  }

  const rng = createRng(options.seed).fork('tune')
  for (let i = 0; count < Math.floor(trials / 2) && i < 20 * trials; i++) attempt(drawn(rng))
  for (let moved = true; moved && count < trials; ) {
    moved = false
    for (const near of neighbours(best)) if (attempt(near)) moved = true
  }
  const gain = paired(bestValues, startValues)
  const heldOutGain = paired(score(best, heldOut), score(start, heldOut))
  return {
    best,
    tried: count,
    gain,
    heldOutGain,
    survives: gain.mean > 0 ? heldOutGain.mean / gain.mean : Number.NaN,
  }
}

function drawn(rng: { below(bound: number): number }): Candidate {
  const pick = (name: keyof Candidate): number => {
    const values = SPACE[name]
    return values[rng.below(values.length)] as number
  }
  return {
    uGuard: pick('uGuard'),
    longPathCap: pick('longPathCap'),
    nMin: pick('nMin'),
    nMax: pick('nMax'),
    m: pick('m'),
    ladderScale: pick('ladderScale'),
  }
}

/** One number moved to the next value below or above. */
function neighbours(from: Candidate): Candidate[] {
  return (Object.keys(SPACE) as (keyof Candidate)[]).flatMap((name) => {
    const below = SPACE[name].filter((value) => value < from[name]).at(-1)
    const above = SPACE[name].find((value) => value > from[name])
    return [below, above].flatMap((value) =>
      value === undefined ? [] : [{ ...from, [name]: value }],
    )
  })
}

/** The calibrated ladder with its rows scaled, each still a whole even number of SMs, rising, and below the aggressive row. */
export function scaledLevels(
  levels: readonly number[],
  scale: number,
  aggressiveSms: number,
): number[] {
  const scaled = levels.map((sms) => Math.max(2, 2 * Math.round((sms * scale) / 2)))
  return [...new Set(scaled)].filter((sms) => sms < aggressiveSms)
}
