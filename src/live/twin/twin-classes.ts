/**
 * @module
 * The twin's classes in the form that `load` takes: a usual request of each, and the SLO in force.
 */
import type { LoadClassInput } from '../load-class.js'
import { usualRequest } from './twin-metrics.js'
import type { TwinSpec } from './twin-spec.js'

export function listClasses(spec: TwinSpec, sloMs: readonly number[]): LoadClassInput[] {
  const longShare = 0.3
  const isLong = (of: TwinSpec['classes'][number]): boolean => of.output !== 'text'
  // Nobody makes videos on the fly.
  const listed = spec.classes.filter((of) => of.inputs[0] !== 'video')
  const longs = listed.filter(isLong).length
  return listed.map((of) => {
    const index = spec.classes.indexOf(of)
    const usual = usualRequest(spec, index)
    const share = isLong(of) ? longShare / longs : (1 - longShare) / (listed.length - longs)
    const common = {
      name: of.name,
      weight: Number(share.toFixed(4)),
      promptTokens: usual.promptTokens,
      audioSeconds: usual.audioSeconds,
      images: usual.images,
    }
    const ms = Number((sloMs[index] as number).toPrecision(4))
    if (of.output === 'text') {
      return { ...common, slo: { metric: 'ttft', ms }, answerTokens: usual.answerTokens }
    }
    if (of.output === 'audio') {
      return {
        ...common,
        modalities: ['text', 'audio'],
        slo: { metric: 'ttfa', ms },
        answerTokens: usual.answerTokens,
      }
    }
    const own = of.inputs.includes('text')
    return {
      ...common,
      ...(own
        ? { endpoint: '/v1/images/generations' as const }
        : { modalities: ['image' as const] }),
      slo: { metric: 'e2el', ms },
    }
  })
}
