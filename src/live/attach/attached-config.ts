/**
 * @module
 * What was measured as a configuration file, complete and commented, with what it rests on and what could not be determined.
 */
import { stringify } from 'yaml'
import { type HorizonConfig, parseConfig } from '../../config.js'
import type { StageCost, StageProfile } from '../../policies/index.js'
import { modalityClass } from '../../sim/index.js'
import type { Attached, AttachedClass } from './attach.js'
import type { ServerFacts } from './facts.js'
import { median, type Rung } from './rung.js'

const DEFAULT_MULTIPLIER = 5

/** Checked: it builds a scheduler. */
export function attachedConfig(attached: Attached, multiplier = DEFAULT_MULTIPLIER): HorizonConfig {
  const config: HorizonConfig = {
    classes: Object.fromEntries(
      attached.classes.map((of) => {
        const { input, output } = modalityClass(of.name)
        return [
          of.name,
          { output, inputs: [input], soloP95Ms: round(of.soloP95Ms), sloMultiplier: multiplier },
        ]
      }),
    ),
    profile: Object.fromEntries(attached.classes.map((of) => [of.name, profileOf(of)])),
    ...(attached.places.shared !== undefined && { slots: attached.places.shared }),
    ...(attached.places.downstream !== undefined && {
      estimates: { downstreamConcurrency: attached.places.downstream },
    }),
  }
  parseConfig(config)
  return config
}

function profileOf(of: AttachedClass): StageProfile {
  const points = of.rungs.map((rung, i) => {
    const records = recordsOf(of, i)
    const at = (pick: (r: (typeof records)[number]) => number): number =>
      median(records.map(pick).sort((a, b) => a - b))
    return { size: sizeOf(of, rung, records), at }
  })
  const cost = (pick: (r: AttachedClass['records'][number]) => number): StageCost =>
    points.length === 1
      ? { fixedMs: round(points[0]!.at(pick)) }
      : { [of.varies]: rising(points.map(({ size, at }) => [size, at(pick)] as const)) }
  const shared = cost((r) => r.sharedMs)
  if (modalityClass(of.name).path === 'short') return { shared }
  return {
    shared,
    downstream: cost((r) => r.downstreamMs),
    downstreamBusy: cost((r) => r.downstreamBusyMs),
  }
}

function recordsOf(of: AttachedClass, rung: number) {
  let from = 0
  for (let i = 0; i < rung; i++) from += of.rungs[i]!.times.length
  return of.records.slice(from, from + of.rungs[rung]!.times.length)
}

/** As the server counts it, where it says. */
function sizeOf(of: AttachedClass, rung: Rung, records: AttachedClass['records']): number {
  return of.varies === 'promptTokens' ? records[0]!.promptTokens : rung.shape[of.varies]
}

/** A longer input is not faster: where it seems so by chance, the mean of neighbours stands for both. */
function rising(points: readonly (readonly [number, number])[]): [number, number][] {
  const pools: { inputs: number[]; sum: number }[] = []
  for (const [input, ms] of points) {
    pools.push({ inputs: [input], sum: ms })
    while (pools.length > 1) {
      const last = pools[pools.length - 1]!
      const before = pools[pools.length - 2]!
      if (before.sum / before.inputs.length <= last.sum / last.inputs.length) break
      pools.splice(-2, 2, {
        inputs: [...before.inputs, ...last.inputs],
        sum: before.sum + last.sum,
      })
    }
  }
  return pools.flatMap(({ inputs, sum }) =>
    inputs.map((input): [number, number] => [input, round(sum / inputs.length)]),
  )
}

const round = (ms: number): number => Math.round(ms * 100) / 100

/** Worst and mean error of the table at sizes between its rungs, as shares. */
export function heldOutError(attached: Attached): {
  readonly mean: number
  readonly worst: number
} {
  const errors = attached.classes.flatMap((of) =>
    of.heldOut.map(({ measuredMs, saidMs }) => Math.abs(saidMs - measuredMs) / measuredMs),
  )
  return {
    mean: errors.reduce((a, b) => a + b, 0) / errors.length,
    worst: errors.length === 0 ? Number.NaN : Math.max(...errors),
  }
}

/** The file, with comments. */
export function attachedYaml(
  config: HorizonConfig,
  attached: Attached,
  facts: ServerFacts,
  url: string,
): string {
  const { mean, worst } = heldOutError(attached)
  const percent = (x: number): string =>
    Number.isNaN(x) ? 'not measured' : `${(100 * x).toFixed(1)} %`
  const { places } = attached
  const say = (value: unknown): string => (value === undefined ? 'not determined' : String(value))
  const lines = [
    `Measured by \`horizonserve attach ${url}\`: ${facts.engine}${facts.version === undefined ? '' : ` ${facts.version}`}, ${facts.models.join(', ')}.`,
    ...attached.classes.map(
      (of) =>
        `${of.name}: ${of.records.length} probes at ${of.rungs.length} sizes, p95 alone ${of.soloP95Ms.toFixed(1)} ms; stages told apart by: ${of.split}${of.rungs.every((rung) => rung.isSettled) ? '' : '; some medians are not settled within 5 %'}${of.textFirst === undefined ? '' : of.textFirst ? '; text comes before sound' : '; sound comes before text'}${of.inChunks === true ? '; sound comes in chunks' : ''}.`,
    ),
    `Places: shared stage ${say(places.shared)}, downstream ${say(places.downstream)}. A long request keeps its place until the next stage takes it: ${attached.backPressure === undefined ? 'not determined' : attached.backPressure ? 'yes' : 'no'}.`,
    `Error at sizes between those measured: mean ${percent(mean)}, worst ${percent(worst)}.`,
    'SLOs are the p95 alone times sloMultiplier: put your own in their place (sloMs).',
    'No ladder: SMs are measured on the GPU itself, by `horizonserve sweep`.',
  ]
  return `${lines.map((line) => `# ${line}\n`).join('')}${stringify(config, { flowCollectionPadding: false, collectionStyle: 'any' })}`
}
