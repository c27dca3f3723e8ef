/**
 * A small project whose backends are functions in simulated time. The example and the MCP test drive real programs.
 */
import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type GateInput, gateSchema } from '../../../src/deploy/gate/declaration.js'
import { type Backend, inProcessBackend } from '../../../src/deploy/harness/backend.js'
import type { Clock } from '../../../src/deploy/harness/clock.js'
import { EXACT } from '../../../src/deploy/harness/compare.js'
import type { LegalFinding, LoopProject } from '../../../src/deploy/loop/loop-project.js'
import { seededRandom } from '../../../src/deploy/seeded-random.js'

export function finding(id: string, change: Partial<LegalFinding> = {}): LegalFinding {
  return {
    id,
    rule: 'stream-edge',
    why: `${id} touches no shared state`,
    bottleneck: 'tts',
    target: 'latency',
    gpus: 1,
    expectedGain: 0.3,
    ...change,
  }
}

/** Time that only backends move: the loop under test is driven to the same verdicts on any machine. */
const simulated = { now: 0 }
const CLOCK: Clock = {
  now: () => simulated.now,
  sleepUntil: async (time) => {
    simulated.now = Math.max(simulated.now, time)
  },
}

/** Answers `n` with n chunks, each after `waitMs` (give or take a tenth) of simulated time; `wrong` spoils the last one. */
export function chunkBackend(name: string, waitMs: number, wrong = false): Backend {
  const random = seededRandom(name)
  return inProcessBackend(name, async function* (inputs) {
    for await (const input of inputs) {
      for (let k = 0; k < Number(input); k++) {
        simulated.now += waitMs * (0.9 + 0.2 * random.uniform())
        yield wrong && k === Number(input) - 1 ? -1 : k * 10
      }
    }
  })
}

/** A quick gate: a large effect, so few pairs unless the machine is noisy. */
export const QUICK_GATE: GateInput = {
  primary: [{ sample: 'firstOutputMs', statistic: 'median' }],
  minimumEffect: 0.05,
  detectEffect: 0.5,
  power: 0.9,
  pilotPairs: 5,
  minPairs: 10,
  maxPairs: 60,
}

export async function loopProject(
  folder: string,
  change: Partial<LoopProject> = {},
): Promise<LoopProject> {
  const template = join(folder, 'template')
  await mkdir(template, { recursive: true })
  writeFileSync(join(template, 'serve.txt'), 'serve\n')
  const gate = gateSchema.parse(QUICK_GATE)
  const script = [{ inputs: [{ atMs: 0, value: 2 }] }]
  return {
    name: 'chunks',
    folder: join(folder, 'loop'),
    gates: { latency: gate, rate: gate, both: gate },
    budget: { runs: 10_000 },
    findings: [
      finding('stream-tts'),
      finding('split-vae', { rule: 'disaggregate', bottleneck: 'vae' }),
    ],
    reference: chunkBackend('reference', 15),
    referenceDigest: null,
    candidate: (id) => chunkBackend(id, 1),
    template,
    verifyScript: script,
    measureScript: script,
    tolerances: EXACT,
    warmUpRuns: 0,
    coolDownMs: 0,
    clock: CLOCK,
    ...change,
  }
}
