/**
 * @module
 * The request profiler: solo times from offline stage profiles (paper, section 4.2), interpolated over input tokens, audio seconds,
 * image and video counts. One profile per class, so the output path is part of the key. Weak where inputs interact: costs add up.
 */
import { doubles } from '../core/columns.js'
import { expectNumber, expectThat } from '../core/errors.js'
import { INPUT, type Profiler, WORK } from '../core/ports.js'

/** Points `[input, ms]` with rising inputs; linear between them, and beyond the last along its last segment. */
export type Curve = readonly (readonly [input: number, ms: number])[]

/** What a stage takes alone, ms: a fixed part plus one curve per kind of input. */
export interface StageCost {
  /** @default 0 */
  readonly fixedMs?: number
  readonly promptTokens?: Curve
  readonly audioSeconds?: Curve
  readonly images?: Curve
  readonly videos?: Curve
}

/** Profile of one class. */
export interface StageProfile {
  /** Shared stage, encoders included: up to the first token (short path) or the hand-over to the downstream stage (long path). */
  readonly shared: StageCost
  /** Downstream stages up to the first response; long path only. */
  readonly downstream?: StageCost
  /** How long the request occupies its downstream stage. @default downstream */
  readonly downstreamBusy?: StageCost
  /** Part of the shared time that goes by with decoding, for classes whose first response needs decoded tokens. @default 0 */
  readonly decodeTokens?: number
  /** Solo ms per decoded token. @default 0 */
  readonly decodeMsPerToken?: number
}

const INPUT_NAMES = ['promptTokens', 'audioSeconds', 'images', 'videos'] as const

/** Profiles in the order of the classes. Throws `ERR_POLICIES_PROFILE` naming the class and the field. */
export function requestProfiler(
  profiles: readonly { readonly name: string; readonly profile: StageProfile }[],
): Profiler {
  const shared: CompiledCost[] = []
  const downstream: CompiledCost[] = []
  const busy: CompiledCost[] = []
  const decodeMs = doubles(profiles.length)
  for (const [c, { name, profile }] of profiles.entries()) {
    const field = `profile.${name}`
    shared.push(compile(profile.shared, `${field}.shared`))
    downstream.push(compile(profile.downstream ?? {}, `${field}.downstream`))
    busy.push(
      compile(profile.downstreamBusy ?? profile.downstream ?? {}, `${field}.downstreamBusy`),
    )
    decodeMs[c] = (profile.decodeTokens ?? 0) * (profile.decodeMsPerToken ?? 0)
    expectNumber('ERR_POLICIES_PROFILE', `${field}.decodeTokens`, decodeMs[c]!, 0)
  }
  return {
    annotate(classIndex, inputs, out) {
      evaluate(shared[classIndex]!, inputs, out, WORK.shared)
      out[WORK.shared]! += decodeMs[classIndex]!
      evaluate(downstream[classIndex]!, inputs, out, WORK.downstream)
      evaluate(busy[classIndex]!, inputs, out, WORK.downstreamBusy)
    },
    remaining: remainingMs,
  }
}

/** Solo ms left of the shared stage: the prompt's share goes with the tokens done. */
export function remainingMs(
  workMs: number,
  promptTokens: number,
  prefillTokensDone: number,
  _decodeTokensDone: number,
): number {
  if (promptTokens <= 0) return workMs
  return workMs * Math.max(0, 1 - prefillTokensDone / promptTokens)
}

interface CompiledCost {
  readonly fixedMs: number
  /** Per kind of input: points, flattened. Empty where the cost does not depend on it. */
  readonly x: readonly Float64Array[]
  readonly y: readonly Float64Array[]
}

/** Writes the cost to `out[at]`: no double is returned, so none is boxed. @hot */
function evaluate(cost: CompiledCost, inputs: Float64Array, out: Float64Array, at: number): void {
  let ms = cost.fixedMs
  for (let kind = 0; kind < 4; kind++) {
    const x = cost.x[kind]!
    const points = x.length
    if (points === 0) continue
    const y = cost.y[kind]!
    const value = inputs[kind]!
    if (points === 1) {
      // One point means proportional: `[[1, 5]]` is 5 ms per image.
      ms += (y[0]! / x[0]!) * value
      continue
    }
    let right = 1
    while (right < points - 1 && value > x[right]!) right += 1
    const slope = (y[right]! - y[right - 1]!) / (x[right]! - x[right - 1]!)
    const interpolated = y[right - 1]! + slope * (value - x[right - 1]!)
    // Below the first point the first value holds, except that no input costs nothing.
    ms += value === 0 && x[0]! > 0 ? 0 : value < x[0]! ? y[0]! : interpolated
  }
  out[at] = ms
}

function compile(cost: StageCost, field: string): CompiledCost {
  const fixedMs = cost.fixedMs ?? 0
  expectNumber('ERR_POLICIES_PROFILE', `${field}.fixedMs`, fixedMs, 0)
  const x: Float64Array[] = []
  const y: Float64Array[] = []
  for (const name of INPUT_NAMES) {
    const curve = cost[name] ?? []
    let before = -1
    let beforeMs = 0
    for (const [k, [input, ms]] of curve.entries()) {
      const at = `${field}.${name}[${k}]`
      const single = curve.length === 1
      expectThat(
        input > before && Number.isFinite(input) && !(single && input === 0),
        'ERR_POLICIES_PROFILE',
        'inputs of a curve must rise',
        at,
        single ? 'an input above 0' : `an input above ${before}`,
        input,
      )
      // Times of a curve must not fall.
      expectNumber('ERR_POLICIES_PROFILE', at, ms, beforeMs)
      before = input
      beforeMs = ms
    }
    x[INPUT[name]] = Float64Array.from(curve, ([input]) => input)
    y[INPUT[name]] = Float64Array.from(curve, ([, ms]) => ms)
  }
  return { fixedMs, x, y }
}
