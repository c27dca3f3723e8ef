import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createHorizon } from '../../src/index.js'
import { vanillaPolicy } from '../../src/policies/index.js'
import { CALLS } from '../../src/record/format.js'
import {
  createRecordedHorizon,
  createRecorder,
  recordingFile,
  replayRecording,
} from '../../src/record/index.js'
import { runs } from '../support/runs.js'
import { CONFIG, serve, wavySource } from './random-serving.js'

function record(steps: number, seed: number, maxBytes?: number) {
  const parts: string[] = []
  const ends: string[] = []
  const recorder = createRecorder({
    sink: { write: (text) => void parts.push(text) },
    onEnd: (why) => void ends.push(why),
    ...(maxBytes !== undefined && { maxBytes }),
  })
  const clock = { nowMs: 1000.125 }
  const levels: number[] = []
  const horizon = createRecordedHorizon(CONFIG, recorder, {
    pressureSource: wavySource(() => clock.nowMs),
    actuator: {
      name: 'slow',
      apply: (level) => void levels.push(level),
      readBack: () => levels.at(-2) ?? 0,
    },
  })
  const admitted = serve(horizon, steps, seed, clock)
  recorder.flush()
  return { lines: parts.join('').split('\n'), ends, admitted, horizon, recorder }
}

describe('a recording', () => {
  it('is repeated to identical decisions, views and handles', () => {
    const steps = runs(10_000, 100_000)
    const { lines, horizon, admitted } = record(steps, 7)
    expect(admitted).toBeGreaterThan(steps / 2)
    const phases = new Set<string>()
    const replay = replayRecording(lines, { onStep: (s) => phases.add(s.decision.phase) })
    expect(replay.difference).toBeUndefined()
    expect(replay).toMatchObject({ identical: true, sections: 1, steps, isCut: false })
    expect(replay.taken).toBeGreaterThan(steps)
    expect(phases.size).toBeGreaterThan(1)
    let metrics: unknown
    replayRecording(lines, { onStep: (s) => (metrics = s.metrics().steps) })
    expect(metrics).toBe(horizon.metrics().steps)
  })

  it('decides as the scheduler does that is not recorded', () => {
    const plainClock = { nowMs: 5 }
    const plain = createHorizon(CONFIG)
    serve(plain, 500, 3, plainClock)
    const recorder = createRecorder({ sink: { write() {} } })
    const recorded = createRecordedHorizon(CONFIG, recorder)
    serve(recorded, 500, 3, { nowMs: 5 })
    expect(recorded.metrics()).toEqual(plain.metrics())
    expect(recorder.written).toBeGreaterThan(0)
  })

  it('names the first step that comes out otherwise', () => {
    const { lines } = record(300, 5)
    const at = lines.findIndex((line, i) => i > 200 && line.startsWith('["s"'))
    const changed = JSON.parse(lines[at]!) as (number | string)[]
    changed[12] = (changed[12] as number) + 1
    const { difference, identical } = replayRecording(lines.with(at, JSON.stringify(changed)))
    expect(identical).toBe(false)
    expect(difference).toMatchObject({ line: at + 1, step: changed[7], what: 'waiting' })
  })

  it('says that a call is refused which was not when it was recorded', () => {
    const { lines } = record(50, 5)
    lines.splice(30, 0, '["e","finish",12345]')
    const { difference } = replayRecording(lines)
    expect(difference).toMatchObject({ line: 31, recorded: 'accepted' })
  })

  it('stays within its bound, says so, and the part before is whole', () => {
    const { lines, ends, recorder } = record(4000, 2, 100_000)
    expect(lines.join('\n').length).toBeLessThanOrEqual(100_000)
    expect(ends).toEqual(['the bound of the recording is reached'])
    expect(recorder.isOpen).toBe(false)
    expect(replayRecording(lines)).toMatchObject({
      identical: true,
      endedBecause: 'the bound of the recording is reached',
    })
  })

  it('of a killed process is whole up to its last line', () => {
    const { lines } = record(200, 2)
    const whole = lines.slice(0, 300)
    whole.push(lines[300]!.slice(0, -4))
    expect(replayRecording(whole)).toMatchObject({ identical: true, isCut: true })
    expect(() => replayRecording([...whole, lines[301]!])).toThrow(/line 301/)
  })

  it('holds no id and nothing of what a request says', () => {
    const parts: string[] = []
    const recorder = createRecorder({ sink: { write: (text) => void parts.push(text) } })
    const horizon = createRecordedHorizon(CONFIG, recorder)
    const handle = horizon.arrive({ class: 'chat', promptTokens: 9, id: 'secret-id' }, 1)
    horizon.step(2)
    horizon.admit(handle)
    recorder.flush()
    expect(parts.join('')).not.toContain('secret')
    expect(replayRecording(parts.join('').split('\n')).identical).toBe(true)
  })

  it('goes on deciding when the disk does not take it', () => {
    const ends: string[] = []
    const recorder = createRecorder({
      sink: {
        write() {
          throw new Error('ENOSPC')
        },
      },
      onEnd: (why) => void ends.push(why),
    })
    const horizon = createRecordedHorizon(CONFIG, recorder)
    serve(horizon, 3000, 4, { nowMs: 0 })
    expect(ends).toEqual(['it cannot be written: ENOSPC'])
    expect(horizon.metrics().steps).toBe(3000)
  })

  it('needs the policy again that its configuration does not describe', () => {
    const parts: string[] = []
    const recorder = createRecorder({ sink: { write: (text) => void parts.push(text) } })
    const horizon = createRecordedHorizon(CONFIG, recorder, { policy: vanillaPolicy() })
    serve(horizon, 100, 4, { nowMs: 0 })
    recorder.flush()
    const lines = parts.join('').split('\n')
    expect(() => replayRecording(lines)).toThrow(/vanilla/)
    expect(replayRecording(lines, { policy: vanillaPolicy() }).identical).toBe(true)
  })

  it('listeners that act inside a step are repeated after it', () => {
    const parts: string[] = []
    const recorder = createRecorder({ sink: { write: (text) => void parts.push(text) } })
    const horizon = createRecordedHorizon(CONFIG, recorder)
    horizon.events.on('decision', (decision) => {
      const handle = decision.view.take()
      if (handle !== 0) horizon.admit(handle)
    })
    for (let k = 0; k < 40; k++) {
      horizon.arrive({ class: k % 3 === 0 ? 'speech' : 'chat', promptTokens: 100 }, k)
      horizon.step(k)
    }
    recorder.flush()
    expect(replayRecording(parts.join('').split('\n'))).toMatchObject({
      identical: true,
      taken: 40,
    })
  })

  it('goes to a file and comes back, made on one version of Node and replayed on another', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'record-')), 'one.jsonl')
    const file = recordingFile(path)
    const recorder = createRecorder({ sink: file })
    serve(createRecordedHorizon(CONFIG, recorder), 200, 1, { nowMs: 0 })
    recorder.flush()
    file.close()
    expect(replayRecording(readFileSync(path, 'utf8').split('\n')).identical).toBe(true)
    const golden = readFileSync(new URL('../golden/recording.jsonl', import.meta.url), 'utf8')
    expect(replayRecording(golden.split('\n'))).toMatchObject({ identical: true, steps: 300 })
    expect(() => recordingFile('/nowhere/at/all')).toThrow(/cannot be written/)
  })

  it('records every method that changes a scheduler', () => {
    const reads = ['has', 'outlook', 'handleOf', 'idOf', 'isWaiting', 'isScheduled', 'metrics']
    const own = ['arrive', 'arriveNow', 'step', 'stepNow', 'isVisible', 'explain', ...CALLS]
    const methods = Object.entries(createHorizon(CONFIG))
      .filter(([, value]) => typeof value === 'function')
      .map(([name]) => name)
    expect(methods.sort()).toEqual([...own, ...reads, 'smoothedPressure'].sort())
  })
})
