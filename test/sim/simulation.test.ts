import { describe, expect, it } from 'vitest'
import { createSimulation } from '../../src/sim/simulation.js'

describe('simulation', () => {
  it('moves the clock from event to event and breaks ties by rank, then by the order scheduled', () => {
    const sim = createSimulation()
    const seen: string[] = []
    const late = sim.kind(1, (a) => seen.push(`late${a}@${sim.nowMs}`))
    const early = sim.kind(0, (a) => {
      seen.push(`early${a}@${sim.nowMs}`)
      if (a === 0) sim.after(0, late, 9)
    })
    sim.at(5, late, 1)
    sim.at(5, early, 0)
    sim.at(5, late, 2)
    sim.at(2, late, 3)
    expect(sim.run()).toBe('drained')
    expect(seen).toEqual(['late3@2', 'early0@5', 'late1@5', 'late2@5', 'late9@5'])
    expect(sim.events).toBe(5)
  })

  it('stops at a horizon with the clock on it, and goes on from there', () => {
    const sim = createSimulation()
    let ticks = 0
    const tick = sim.kind(0, () => {
      ticks++
      sim.after(10, tick)
    })
    sim.at(0, tick)
    expect(sim.run(35)).toBe('until')
    expect([ticks, sim.nowMs, sim.waiting]).toEqual([4, 35, 1])
    expect(sim.run(40)).toBe('until')
    expect([ticks, sim.nowMs]).toEqual([5, 40])
  })

  it('stops when asked, and cancels', () => {
    const sim = createSimulation()
    const stop = sim.kind(0, () => sim.stop())
    const never = sim.kind(0, () => expect.unreachable())
    const id = sim.at(1, never)
    sim.at(2, stop)
    sim.at(3, never)
    expect(sim.cancel(id)).toBe(true)
    expect(sim.run()).toBe('stopped')
    expect(sim.nowMs).toBe(2)
  })

  it('refuses the past, unknown kinds and bad ranks', () => {
    const sim = createSimulation()
    const kind = sim.kind(0, () => {})
    sim.at(4, kind)
    sim.run()
    expect(() => sim.at(3, kind)).toThrow(/past/)
    expect(() => sim.after(-1, kind)).toThrow(/past/)
    expect(() => sim.at(9, 7)).toThrow(/kind/)
    expect(() => sim.kind(40, () => {})).toThrow(/rank/)
  })
})
