import { describe, expect, it } from 'vitest'
import { FLAG } from '../../src/adapters/layout.js'
import { buildControl } from '../../src/controller/control-setup.js'
import { publishedRules } from '../../src/controller/published-rules.js'
import { someConfig } from './some-config.js'

describe('rules of the published table', () => {
  it('are those of the default policy', () => {
    expect(publishedRules(someConfig())).toEqual({
      flags:
        FLAG.rotate |
        FLAG.cycle |
        FLAG.exemptProtected |
        FLAG.limitLong |
        FLAG.capShared |
        FLAG.triage |
        FLAG.workConserving,
      nMin: 2,
      nMax: 8,
      m: 2,
      longCap: 2,
      shareFloor: 0.05,
      uGuard: 2,
      uLost: 1,
      downstreamWait: true,
    })
  })

  it('are those of the literal preset', () => {
    expect(publishedRules(someConfig({ preset: 'literal' }))).toMatchObject({
      flags: FLAG.rotate | FLAG.exemptProtected | FLAG.limitLong,
      uLost: 0,
      downstreamWait: false,
    })
  })

  it('leave out what the configuration leaves out', () => {
    const rules = publishedRules(
      someConfig({
        rotation: false,
        longPathCap: false,
        triage: false,
        uGuard: 0,
        workConserving: false,
      }),
    )
    expect(rules?.flags).toBe(0)
    expect(publishedRules(someConfig({ order: 'deadline' }))!.flags & FLAG.byDeadline).toBe(
      FLAG.byDeadline,
    )
  })

  it('do not exist for an order that the table cannot express', () => {
    expect(publishedRules(someConfig({ order: 'priority' }))).toBeUndefined()
  })

  it('do not exist where slots are kept, and do where they are only named', () => {
    expect(publishedRules(someConfig({ slots: 8 }))).toBeUndefined()
    for (const more of [{ slotReserve: false }, { triage: false }, { preset: 'literal' }] as const)
      expect(publishedRules(someConfig({ slots: 8, ...more }))).toEqual(
        publishedRules(someConfig(more)),
      )
  })

  it('say the same as the policy that the core runs', () => {
    for (const config of [
      someConfig(),
      someConfig({ preset: 'literal' }),
      someConfig({ uGuard: 3, triage: { uLost: 1.5 } }),
    ]) {
      const { scheduler, rules } = buildControl(config)
      const { urgency, workConserving } = scheduler.policy
      expect(rules).toMatchObject({
        uGuard: urgency.uGuard,
        uLost: urgency.uLost,
        downstreamWait: urgency.downstreamWait,
      })
      expect((rules!.flags & FLAG.workConserving) !== 0).toBe(workConserving)
    }
  })

  it('refuse more classes than a bank holds', () => {
    const names = Array.from({ length: 17 }, (_, i) => `c${i}`)
    const config = {
      classes: Object.fromEntries(names.map((n) => [n, { output: 'text', sloMs: 100 } as const])),
      profile: Object.fromEntries(names.map((n) => [n, { shared: { fixedMs: 1 } }])),
    }
    expect(() => buildControl(config)).toThrow(
      expect.objectContaining({ code: 'ERR_CONTROLLER_CLASSES' }),
    )
  })
})
