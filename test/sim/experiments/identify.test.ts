import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { fitWorld } from '../../../src/sim/experiments/fit-worlds.js'
import { identification } from '../../../src/sim/experiments/identify.js'
import { createLaboratory } from '../../../src/sim/experiments/laboratory.js'
import { STATEMENTS } from '../../../src/sim/experiments/predict-worlds.js'
import {
  overridesOf,
  WORLD_GRID,
  type WorldOfGrid,
} from '../../../src/sim/experiments/world-grid.js'
import { omniParameters, omniSpec } from '../../../src/sim/omni/spec.js'

/** Every file that a file loads, itself included. */
function loads(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen
  seen.add(path)
  for (const [, from] of readFileSync(path, 'utf8').matchAll(/from '(\.[^']+)\.js'/g)) {
    const file = resolve(dirname(path), `${from}.ts`)
    if (existsSync(file)) loads(file, seen)
  }
  return seen
}

test('the fit never loads HorizonServe’s rows', () => {
  const of = (name: string) => resolve(import.meta.dirname, '../../../src/sim/experiments', name)
  const files = [...loads(of('fit-worlds.ts'))]
  expect(files).toContain(of('paper-baselines.ts'))
  expect(files).not.toContain(of('paper-numbers.ts'))
  // The check can fail: what predicts does load them.
  expect([...loads(of('predict-worlds.ts'))]).toContain(of('paper-numbers.ts'))
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    for (const figure of ['71.9', '53.5', '57.1', '63.7']) expect(text).not.toContain(figure)
  }
})

test('the grid has at least a hundred worlds, each named once, each within the sourced ranges', () => {
  expect(WORLD_GRID.length).toBeGreaterThanOrEqual(100)
  expect(new Set(WORLD_GRID.map((world) => world.id)).size).toBe(WORLD_GRID.length)
  const own = ['handOver.mechanism', 'shared.hostMsPerAnswerToken']
  for (const world of WORLD_GRID) {
    for (const model of ['qwen2.5-omni', 'mimo-audio', 'bagel'] as const) {
      const parameters = omniParameters('rtx-6000-ada', model)
      for (const [path, value] of Object.entries(overridesOf(world, model))) {
        if (own.includes(path)) continue
        const { low, high } = parameters.get(path)!
        expect(value, `${model} ${path}`).toBeGreaterThanOrEqual(low)
        expect(value, `${model} ${path}`).toBeLessThanOrEqual(high)
      }
      expect(omniSpec('rtx-6000-ada', model, overridesOf(world, model)).handOver.mechanism).toBe(
        world.mechanism,
      )
    }
  }
})

test('a world is fitted, and the document says what no world and one world say', () => {
  const lab = createLaboratory({ calibratesAlone: true, soloRuns: 5 })
  const world = WORLD_GRID.find((of) =>
    of.id.startsWith('until-accepted/4+1/host-20'),
  ) as WorldOfGrid
  const fit = fitWorld(world, { run: lab.run, seeds: [1], minutes: 0.5 })
  expect(fit.quoted).toHaveLength(4)
  expect(fit.baselineRmse).toBeGreaterThan(0)
  const none = identification([fit], [])
  expect(none).toMatchObject({ worldsTried: 1, worldsFitting: 0 })
  expect(none.quoted[0]!.literal.mean).toBeNull()
  const attained = [50, 50, 50, 50].map((completed) => ({ completed, arrived: completed / 2 }))
  const one = identification(
    [fit],
    [
      {
        id: fit.id,
        literal: attained,
        recommended: attained,
        figure3: [40, 30, 20, 10, 8, 6, 4],
        statements: STATEMENTS.map((_, i) => i === 0),
      },
    ],
  )
  expect(one.figure3.text).toEqual([40, 30, 20, 10, 8, 6, 4])
  expect(one.quoted.map((of) => of.share)).toEqual([0, 1, 0, 1])
  expect(one.quoted[0]!.literal).toEqual({ mean: 50, low: 50, high: 50, meanOverArrived: 25 })
  expect(one.statements[0]!.share).toBe(1)
})
