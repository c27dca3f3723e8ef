import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gateSchema } from '../../src/deploy/gate/declaration.js'
import type { LoopEvent } from '../../src/deploy/loop/events.js'
import type { LoopProject } from '../../src/deploy/loop/loop-project.js'
import { openLoop } from '../../src/deploy/loop/measured-loop.js'
import { paretoFront } from '../../src/deploy/loop/rank.js'
import { chunkBackend, finding, loopProject, QUICK_GATE } from './support/loop-project.js'
import { temporaryFolder } from './support/temporary-folder.js'

const project = (change: Partial<LoopProject> = {}) => loopProject(temporaryFolder(), change)

describe('the measured loop', () => {
  it('accepts what is equal and faster, on confirmed measurements, and ends when all is settled', async () => {
    const loop = openLoop(await project({ findings: [finding('stream-tts')] }))
    expect(loop.seed()).toEqual(['stream-tts'])
    expect(loop.next()).toMatchObject({ do: 'implement', variant: 'stream-tts' })
    const { workspace } = loop.implement('stream-tts')
    expect(readFileSync(join(workspace, 'serve.txt'), 'utf8')).toBe('serve\n')
    expect(loop.next()).toMatchObject({ do: 'verify' })
    expect(await loop.verify('stream-tts')).toMatchObject({ equal: true })
    expect(loop.next()).toMatchObject({ do: 'measure' })
    expect(await loop.measure('stream-tts')).toMatchObject({ state: 'accepted', stage: 'confirm' })
    expect(paretoFront(loop.ledger(), 1).map((record) => record.variant.spec.id)).toEqual([
      'stream-tts',
    ])
    expect(loop.next()).toMatchObject({ do: 'nothing' })
    expect(loop.ledger().stopped).toMatchObject({ reason: 'complete' })
    loop.close()
  })

  it('times nothing that is unequal, and lets it be repaired', async () => {
    let wrong = true
    const loop = openLoop(
      await project({
        findings: [finding('stream-tts')],
        candidate: (id) => chunkBackend(id, 1, wrong),
      }),
    )
    loop.seed()
    loop.implement('stream-tts')
    expect(await loop.verify('stream-tts')).toEqual({
      equal: false,
      why: '[0][1]: expected 10, got -1',
    })
    await expect(loop.measure('stream-tts')).rejects.toMatchObject({
      code: 'ERR_DEPLOY_LOOP_STATE',
    })
    expect(loop.next()).toMatchObject({ do: 'implement' })
    wrong = false
    loop.implement('stream-tts')
    expect(await loop.verify('stream-tts')).toMatchObject({ equal: true })
    wrong = true
    expect(await loop.measure('stream-tts')).toMatchObject({
      state: 'failed-verification',
      why: 'under measurement: [0][1]: expected 10, got -1',
    })
    loop.close()
  })

  it('rejects what is no faster', async () => {
    const loop = openLoop(
      await project({
        findings: [finding('stream-tts')],
        candidate: (id) => chunkBackend(id, 15),
      }),
    )
    loop.seed()
    loop.implement('stream-tts')
    await loop.verify('stream-tts')
    expect(await loop.measure('stream-tts')).toMatchObject({ state: 'rejected', stage: 'screen' })
    loop.close()
  })

  it('times only what was verified', async () => {
    const loop = openLoop(await project())
    loop.seed()
    const { workspace } = loop.implement('stream-tts')
    await loop.verify('stream-tts')
    writeFileSync(join(workspace, 'serve.txt'), 'serve differently\n')
    expect(await loop.measure('stream-tts')).toMatchObject({
      state: 'failed-verification',
      why: 'the workspace changed after it was verified',
    })
    loop.close()
  })

  it('goes on after an interruption where it was, when it is opened again', async () => {
    const made = await project()
    const first = openLoop(made)
    first.seed()
    first.implement('stream-tts')
    await first.verify('stream-tts')
    const progress = await first.measure('stream-tts', { maxMs: 0 })
    expect(progress).toMatchObject({ state: 'measuring', stage: 'pilot' })
    first.close()
    const second = openLoop(made)
    expect(second.ledger()).toEqual(first.ledger())
    expect(await second.measure('stream-tts')).toMatchObject({ state: 'accepted' })
    second.close()
  })

  it('proposes combinations of accepted variants, once', async () => {
    const loop = openLoop(await project())
    loop.seed()
    for (const id of ['stream-tts', 'split-vae']) {
      loop.implement(id)
      await loop.verify(id)
      await loop.measure(id)
    }
    const combined = loop.ledger().variants.get('split-vae-with-stream-tts')
    expect(combined?.variant).toMatchObject({
      state: 'proposed',
      spec: { source: 'combination', parts: ['split-vae', 'stream-tts'] },
    })
    expect(loop.ledger().stopped).toBeNull()
    loop.withdraw('split-vae-with-stream-tts', 'both act on the same edge')
    expect(loop.ledger().stopped).toMatchObject({ reason: 'complete' })
    loop.close()
  })

  it('records a budget stop as such and goes on when the budget is raised', async () => {
    const loop = openLoop(await project({ budget: { runs: 13 } }))
    loop.seed()
    loop.implement('stream-tts')
    await loop.verify('stream-tts')
    expect(await loop.measure('stream-tts')).toMatchObject({ state: 'budget-stop' })
    // The pilot's ten; the three that are left do not hold the screening, so it is not begun.
    expect(loop.ledger()).toMatchObject({ runsDriven: 10, stopped: { reason: 'budget' } })
    loop.raiseBudget(1000, 'the night is free')
    expect(await loop.measure('stream-tts')).toMatchObject({ state: 'accepted' })
    loop.close()
  })

  it('refuses after the pilot what its pairs could not show, and pilots anew when asked again', async () => {
    const gate = gateSchema.parse({
      ...QUICK_GATE,
      minimumEffect: 0.05,
      detectEffect: 0.051,
      maxPairs: 10,
    })
    const made = await project({
      gates: { latency: gate, rate: gate, both: gate },
      findings: [
        finding('small', { expectedGain: 0.051 }),
        finding('large', { expectedGain: 0.5 }),
        finding('unpredicted', { expectedGain: null }),
      ],
    })
    const loop = openLoop(made)
    loop.seed()
    for (const id of ['small', 'large', 'unpredicted']) {
      loop.implement(id)
      await loop.verify(id)
    }
    const refused = await loop.measure('small')
    expect(refused).toMatchObject({ state: 'refused', stage: 'pilot' })
    expect(refused.why).toMatch(
      /firstOutputMs.median needs \d+ pairs to show 5.1 %, 10 are allowed and show .* at best/,
    )
    expect(await loop.measure('unpredicted')).toMatchObject({ state: 'refused' })
    // What promises a half can be shown by ten pairs.
    expect(await loop.measure('large')).toMatchObject({ state: 'accepted' })
    const { runsDriven } = loop.ledger()
    loop.close()

    const again = openLoop(made)
    expect(again.ledger().runsDriven).toBe(runsDriven)
    expect(again.next()).toMatchObject({ do: 'measure', why: expect.stringMatching(/too noisy/) })
    expect(await again.measure('small')).toMatchObject({ state: 'refused' })
    expect(again.ledger().runsDriven).toBeGreaterThan(runsDriven)
    for (const id of ['small', 'unpredicted']) again.withdraw(id, 'the pilot refused it')
    expect(again.ledger().stopped).toMatchObject({ reason: 'complete' })
    again.close()
    openLoop(made).close()
  })

  it('journals the real-time factor of every run, and of what was accepted', async () => {
    const made = await project({ findings: [finding('stream-tts')], mediaMsPerOutput: 4 })
    const loop = openLoop(made)
    loop.seed()
    loop.implement('stream-tts')
    await loop.verify('stream-tts')
    await loop.measure('stream-tts')
    loop.close()
    const lines = readFileSync(join(made.folder, 'journal.jsonl'), 'utf8').trim().split('\n')
    const events = lines.map((line) => JSON.parse(line) as LoopEvent)
    const pairs = events.filter((event) => event.event === 'pair')
    // Two outputs of 4 ms of media each: the baseline takes 15 ms for one, the candidate 1 ms.
    for (const { baseline, candidate, stage } of pairs) {
      expect(baseline.realTimeFactor).toBeCloseTo(15 / 4, 0)
      if (stage !== 'pilot') expect(candidate.realTimeFactor).toBeCloseTo(1 / 4, 1)
    }
    const accepted = events.find((event) => event.event === 'accepted')
    expect(accepted?.realTimeFactor).toBeCloseTo(1 / 4, 1)
    expect(loop.ledger().variants.get('stream-tts')?.point?.realTimeFactor).toBe(
      accepted?.realTimeFactor,
    )
  })

  it('refuses a proposal that no finding makes legal', async () => {
    const loop = openLoop(await project())
    expect(() =>
      loop.propose({
        id: 'split-kv',
        title: 'split the shared cache',
        finding: { id: 'split-kv', rule: 'disaggregate', why: 'it would be faster' },
        bottleneck: 'dit',
        target: 'rate',
        gpus: 2,
        against: 'reference',
        parts: [],
        source: 'agent',
        expectedGain: 0.5,
      }),
    ).toThrow(/no finding of the analysis makes this legal/)
    loop.close()
  })

  it('refuses a gate on tails that its runs can never fill, before any work', async () => {
    const gate = gateSchema.parse({
      primary: [{ sample: 'firstOutputMs', statistic: 'p99' }],
      pilotPairs: 10,
    })
    const loop = openLoop(await project({ gates: { latency: gate, rate: gate, both: gate } }))
    loop.seed()
    expect(() => loop.implement('stream-tts')).toThrow(
      /at least 100 samples over the pilot, got 10/,
    )
    loop.close()
  })

  it('lets one process at a time in, and gives the lock back', async () => {
    const made = await project()
    const loop = openLoop(made)
    expect(() => openLoop(made)).toThrow(/another process works on this project/)
    loop.close()
    expect(existsSync(join(made.folder, 'journal.lock'))).toBe(false)
    openLoop(made).close()
  })

  it('does not go on with other inputs, tolerances or gates than it began with', async () => {
    const made = await project()
    openLoop(made).close()
    const looser = { ...made, tolerances: { '': { absolute: 100, relative: 0 } } }
    expect(() => openLoop(looser)).toThrow(/are not those the loop began with/)
    openLoop(made).close()
  })
})
