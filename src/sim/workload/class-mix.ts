/**
 * @module
 * Which share of the requests is of which class. The paper does not print the mix within a path: classes of one path are equally
 * likely unless weights say otherwise, and no public trace carries output modalities at all. So a mix is always declared.
 */
import { HorizonError } from '../../core/errors.js'
import type { ModalityClass } from '../omni/modality-class.js'

/** One weight per class, summing to 1. */
export type ClassMix = Float64Array

/** `longFraction` of the requests on the long path, equally over its classes; the rest equally over the short path. */
export function mixByLongFraction(
  classes: readonly ModalityClass[],
  longFraction: number,
  accept: (of: ModalityClass) => boolean = () => true,
): ClassMix {
  if (!(longFraction >= 0 && longFraction <= 1)) {
    throw new HorizonError('ERR_SIM_MIX', 'impossible share of long-path requests', {
      field: 'longFraction',
      expected: 'a number from 0 to 1',
      got: longFraction,
    })
  }
  const wanted = classes.filter(accept)
  const numLong = wanted.filter((of) => of.path === 'long').length
  const numShort = wanted.length - numLong
  if ((longFraction > 0 && numLong === 0) || (longFraction < 1 && numShort === 0)) {
    throw new HorizonError('ERR_SIM_MIX', 'no class is left for one of the paths', {
      field: 'longFraction',
      got: longFraction,
    })
  }
  return Float64Array.from(classes, (of) => {
    if (!accept(of)) return 0
    return of.path === 'long' ? longFraction / numLong : (1 - longFraction) / numShort
  })
}

/** A mix from weights by class name, scaled to sum to 1. */
export function mixByWeights(
  classes: readonly ModalityClass[],
  weights: Readonly<Record<string, number>>,
): ClassMix {
  let total = 0
  for (const [name, weight] of Object.entries(weights)) {
    if (!classes.some((of) => of.name === name)) {
      throw new HorizonError('ERR_SIM_MIX', 'the model does not serve this class', {
        field: `mix.${name}`,
        expected: classes.map((of) => of.name).join(', '),
      })
    }
    if (!(weight >= 0 && Number.isFinite(weight))) {
      throw new HorizonError('ERR_SIM_MIX', 'impossible weight', {
        field: `mix.${name}`,
        expected: 'a finite number of at least 0',
        got: weight,
      })
    }
    total += weight
  }
  if (!(total > 0)) {
    throw new HorizonError('ERR_SIM_MIX', 'all weights are 0', { field: 'mix' })
  }
  return Float64Array.from(classes, (of) => (weights[of.name] ?? 0) / total)
}

/** The class whose share of [0, 1) holds `point`. */
export function classAt(mix: ClassMix, point: number): number {
  let left = point
  let last = 0
  for (let i = 0; i < mix.length; i++) {
    const share = mix[i] as number
    if (share === 0) continue
    last = i
    left -= share
    if (left < 0) return i
  }
  return last
}
