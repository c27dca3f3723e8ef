/**
 * @module
 * Every exhibit in the order of the results page, and the page that they make.
 */
import { HorizonError } from '../../core/errors.js'
import { overload, peers, realArrivals } from './beyond.js'
import type { ResultsDocument, Section } from './document.js'
import { type Budget, type Exhibit, FIRST_SEED } from './exhibit.js'
import { figure8 } from './figure-8.js'
import { figure2, figure3, figure4 } from './figures-2-to-4.js'
import { figure9, figure10, figure11, table3 } from './figures-9-to-11.js'
import { longRuns } from './long-runs.js'
import { PAPER_MODELS } from './paper-numbers.js'
import { modelFingerprint } from './result-store.js'
import { sensitivity } from './sensitivity.js'
import { table4 } from './table-4.js'
import { tuning } from './tuning.js'
import { frontier, readings } from './worlds.js'

export const EXHIBITS: readonly Exhibit[] = [
  figure2,
  figure3,
  figure4,
  figure8,
  figure9,
  figure10,
  figure11,
  table3,
  table4,
  peers,
  overload,
  longRuns,
  realArrivals,
  tuning,
  sensitivity,
  readings,
  frontier,
]

/** A few minutes on one core. */
export const DEFAULT_BUDGET: Budget = {
  seeds: 4,
  ourSeeds: 4,
  minutes: 15,
  longRunPerClass: 0,
  draws: 30,
  oneAtATime: ['qwen2.5-omni'],
  traces: false,
}

/** Hours: long runs, twenty paired seeds, more random worlds. */
export const FULL_BUDGET: Budget = {
  seeds: 20,
  ourSeeds: 20,
  minutes: 15,
  longRunPerClass: 2000,
  draws: 400,
  oneAtATime: PAPER_MODELS,
  traces: false,
}

/** Exhibits by id; all of them without one. Throws `ERR_SIM_EXHIBIT`. */
export function exhibits(ids: readonly string[]): readonly Exhibit[] {
  if (ids.length === 0) return EXHIBITS
  return ids.map((id) => {
    const found = EXHIBITS.find((of) => of.id === id)
    if (found !== undefined) return found
    throw new HorizonError('ERR_SIM_EXHIBIT', 'no such figure or table', {
      expected: EXHIBITS.map((of) => of.id).join(', '),
      got: id,
    })
  })
}

/** `command` is what made it, for whoever wants the same numbers. */
export function resultsDocument(
  sections: readonly Section[],
  budget: Budget,
  command: string,
): ResultsDocument {
  return {
    title: 'Results: the paper’s experiments on the simulated runtime',
    intro: [
      `Made by \`${command}\`: ${budget.seeds} paired seeds from ${FIRST_SEED} on (${budget.ourSeeds} where ours are held against HorizonServe as printed, in figure 8, overload and long runs), ${budget.minutes} virtual minutes of arrivals a point, ${budget.draws} random worlds. Same command, same numbers, table 4 aside.`,
      `Everything here is simulated. The scheduler is the library’s own; the GPU, the model and the engine around it are a model. Its parameters, each with a source and a range, are in \`src/sim/omni/parameters.ts\` (fingerprint ${modelFingerprint()}). None was chosen by looking at attainment or at a latency under load, and the file was committed before the first run of figure 8. Figures 2 and 4 of the paper (arXiv:2608.01785) are inputs of the model: that they come out again shows nothing.`,
      'What the simulator was checked against (recorded runs of vLLM) is the throughput of the shared stage. Sharing a GPU between two stages, and the downstream stages, were never checked against a GPU: the space half of every gain below rests on the ratios of figure 4.',
      'Attainment over all that arrived: the run is drained, and whoever misses the SLO counts, however long it takes. Over completed, the paper’s way: requests that had completed when arrivals stopped. “As printed” is the literal preset, the paper’s algorithm without our additions; `horizonserve` is the default preset; `horizonserve-slots` is the default preset where the configuration names the engine’s `slots`: half of them are kept free from requests already lost, which get at least 5 % of slot time. Its numbers were settled on seeds 1 to 12, which no experiment here uses.',
    ],
    sections,
  }
}
