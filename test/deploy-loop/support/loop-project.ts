/**
 * A small real project: backends are functions that wait on real timers, so every number in its journal was measured.
 */
import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type GateInput, gateSchema } from '../../../src/deploy/gate/declaration.js'
import { type Backend, inProcessBackend } from '../../../src/deploy/harness/backend.js'
import { EXACT } from '../../../src/deploy/harness/compare.js'
import type { LegalFinding, LoopProject } from '../../../src/deploy/loop/loop-project.js'

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

/** Answers `n` with n chunks, each after `waitMs`; `wrong` spoils the last one. */
export function chunkBackend(name: string, waitMs: number, wrong = false): Backend {
  return inProcessBackend(name, async function* (inputs) {
    for await (const input of inputs) {
      for (let k = 0; k < Number(input); k++) {
        await new Promise((resolve) => setTimeout(resolve, waitMs))
        yield wrong && k === Number(input) - 1 ? -1 : k * 10
      }
    }
  })
}

/** The quickest gate there is: few pairs, a large effect. */
export const QUICK_GATE: GateInput = {
  primary: [{ sample: 'firstOutputMs', statistic: 'median' }],
  minimumEffect: 0.05,
  detectEffect: 0.5,
  power: 0.5,
  pilotPairs: 5,
  minPairs: 10,
  maxPairs: 12,
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
    reference: chunkBackend('reference', 8),
    referenceDigest: null,
    candidate: (id) => chunkBackend(id, 1),
    template,
    verifyScript: script,
    measureScript: script,
    tolerances: EXACT,
    warmUpRuns: 0,
    coolDownMs: 0,
    ...change,
  }
}
