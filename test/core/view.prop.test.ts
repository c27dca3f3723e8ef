/** What a view promises, whatever the history: nothing lost or doubled, what is always visible, what is never exceeded. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkIntegrity } from '../../src/core/integrity.js'
import type { Policy } from '../../src/core/ports.js'
import {
  edfPolicy,
  feasibleEdfPolicy,
  horizonPolicy,
  literalPolicy,
  strictPriorityPolicy,
  vanillaPolicy,
} from '../../src/policies/index.js'
import { runs } from '../support/runs.js'
import {
  histories,
  type Move,
  ServingLoop,
  type Tracked,
  type Watcher,
} from '../support/serving-loop.js'

const EVERYDAY = 12
const LONG_RUNS = 10_000

function holds(
  policy: Policy,
  watch: () => Watcher,
  everyday = EVERYDAY,
  moves?: readonly Move[],
): void {
  fc.assert(
    fc.property(histories(40, moves), (turns) => {
      new ServingLoop(policy, watch()).run(turns)
    }),
    { numRuns: runs(everyday, LONG_RUNS) },
  )
}

const GUARDED: readonly (readonly [string, Policy])[] = [
  ['default', horizonPolicy()],
  ['literal', literalPolicy()],
  ['fixed N, cap 1', horizonPolicy({ rotation: { nMin: 4, nMax: 4 }, longPathCap: { cap: 1 } })],
]
const ALL: readonly (readonly [string, Policy])[] = [
  ...GUARDED,
  ['with slots', horizonPolicy({ slotReserve: { slots: 4 } })],
  ['feasible-edf', feasibleEdfPolicy()],
  ['vanilla', vanillaPolicy()],
  ['edf', edfPolicy()],
  ['strict priority', strictPriorityPolicy()],
]

/** `expect` for the innermost loops: it is called a million times. */
function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}

test.each(ALL)('nothing is lost or doubled: %s', (_name, policy) => {
  holds(policy, () => ({
    step(decision, { scheduler, live }) {
      const given = [...decision.view]
      const isGiven = new Set(given)
      must(isGiven.size === given.length, 'a request is given twice')
      // Shown and hidden together are what waits, each once.
      let waits = 0
      for (const handle of live.keys()) {
        if (!scheduler.isWaiting(handle)) {
          must(!isGiven.has(handle), 'a request that runs is given')
          continue
        }
        waits += 1
        must(scheduler.isVisible(handle) === isGiven.has(handle), 'given is not what is visible')
      }
      expect(decision.waiting).toBe(waits)
      expect(decision.hidden).toBe(waits - given.length)
      expect([...decision.view], 'read once more').toEqual(given)
      decision.view[Symbol.iterator]()
    },
    turn({ scheduler, live }) {
      checkIntegrity(scheduler)
      must(scheduler.size === live.size, 'live requests')
      for (const [handle, { state }] of live) {
        must(scheduler.isWaiting(handle) === (state === 'waiting' || state === 'pinned'), state)
        must(scheduler.isScheduled(handle) === (state === 'prefill' || state === 'decode'), state)
      }
    },
  }))
})

test('what arrived has ended or is live', () => {
  holds(
    horizonPolicy(),
    () => ({
      turn(loop) {
        let unfinished = 0
        for (const c of Object.values(loop.scheduler.metrics().classes)) unfinished += c.unfinished
        must(unfinished === loop.live.size, 'arrived = ended + live')
      },
    }),
    10,
  )
})

test.each(ALL)(
  'a hidden request is never given, what runs or was preempted is never hidden: %s',
  (_name, policy) => {
    holds(policy, () => ({
      step(_decision, { scheduler, live }) {
        for (const [handle, { state }] of live)
          if (state !== 'waiting') must(scheduler.isVisible(handle), 'hidden')
      },
      admit({ handle }, { scheduler }) {
        must(scheduler.isVisible(handle), 'hidden')
      },
    }))
  },
)

test.each(GUARDED)('protected and not lost means visible, in either phase: %s', (_name, policy) => {
  let seen = 0
  holds(policy, () => ({
    step(decision, loop) {
      const urgent = loop.in('waiting').filter((request) => loop.isProtected(request))
      expect(decision.protected).toBe(urgent.length)
      seen += urgent.length
      for (const { handle } of urgent) must(loop.scheduler.isVisible(handle), 'hidden')
    },
  }))
  expect(seen).toBeGreaterThan(0)
})

const COUNTINGS = [
  ['shared-stage', ['prefill', 'decode']],
  ['prefill', ['prefill']],
] as const

const held = (loop: ServingLoop, states: readonly Tracked['state'][]): number =>
  loop.in(...states).filter((r) => r.isLong && r.admittedOrdinary).length

test.each(COUNTINGS)(
  'ordinary long-path requests never exceed the cap, counted by %s',
  (counts, states) => {
    for (const cap of [1, 3]) {
      const policy = horizonPolicy({ longPathCap: { cap, counts } })
      const watch = (): Watcher => ({
        turn: (loop) => expect(held(loop, states)).toBeLessThanOrEqual(cap),
      })
      // Without preemption: what comes back to its slot was counted before, and is the next property.
      holds(policy, watch, EVERYDAY, ['decode', 'downstream', 'respond', 'leave', 'cancel', 'pin'])
    }
  },
)

test.each(COUNTINGS)(
  'with preemption, a step gives no more ordinary long-path requests than it found room for, counted by %s',
  (counts, states) => {
    const cap = 2
    holds(horizonPolicy({ longPathCap: { cap, counts } }), () => {
      let room = 0
      return {
        step(_decision, loop) {
          room = Math.max(0, cap - held(loop, states))
        },
        admit(request, loop) {
          if (request.state !== 'waiting' || !request.isLong) return
          if (loop.isProtected(request) || loop.isLost(request)) return
          room -= 1
          expect(room).toBeGreaterThanOrEqual(0)
        },
      }
    })
  },
)

test('first come first served, no triage: once protected, no later arrival is admitted before a request', () => {
  const policies = [
    horizonPolicy({ triage: false }),
    literalPolicy(),
    horizonPolicy({ triage: false, rotation: false }),
  ]
  for (const policy of policies) {
    let overtaken = 0
    // An estimate that shrinks ends a protection; here slowdowns only grow, and none is measured, no downstream wait is counted.
    let factor = 1
    const factors = fc.double({ min: 0, max: 0.5, noNaN: true })
    fc.assert(
      fc.property(
        histories(40, ['decode', 'downstream', 'leave', 'cancel', 'preempt'], factors),
        (turns) => {
          factor = 1
          const growing = turns.map((turn) => {
            if (turn.slowdown === undefined) return turn
            factor += turn.slowdown.factor
            return { ...turn, slowdown: { c: turn.slowdown.c, factor } }
          })
          const since = new Set<number>()
          const watcher: Watcher = {
            step(_decision, loop) {
              for (const r of loop.in('waiting')) if (loop.isProtected(r)) since.add(r.handle)
            },
            admit(request, loop) {
              if (request.state !== 'waiting') return
              for (const other of loop.in('waiting')) {
                if (!since.has(other.handle)) continue
                overtaken += 1
                must(other.seq >= request.seq, 'overtaken')
              }
            },
          }
          new ServingLoop(policy, watcher, { estimates: { slowdownGain: 0 } }).run(growing)
        },
      ),
      { numRuns: runs(EVERYDAY, LONG_RUNS) },
    )
    expect(overtaken).toBeGreaterThan(0)
  }
})

test('triage: in any run of steps in which lost requests wait, floor(share x steps) of them begin with the most urgent lost one', () => {
  fc.assert(
    fc.property(
      histories(60),
      fc.constantFrom(0, 0.05, 0.25, 1 / 3, 0.5, 1),
      fc.boolean(),
      (turns, shareFloor, isEdf) => {
        const options = { triage: { shareFloor } }
        /** Whether each step of the present run began with a lost request. */
        let run: boolean[] = []
        const watcher: Watcher = {
          step(decision, loop) {
            const lost = loop
              .in('waiting')
              .filter((request) => loop.isLost(request))
              .sort((a, b) => a.deadlineMs - b.deadlineMs || a.seq - b.seq)
            if (lost.length === 0) {
              run = []
              return
            }
            const first = [...decision.view].find(
              (handle) => loop.live.get(handle)!.state === 'waiting',
            )
            decision.view[Symbol.iterator]()
            run.push(first === lost[0]!.handle)
            let begun = 0
            for (let length = 1; length <= run.length; length++) {
              if (run[run.length - length]) begun += 1
              must(begun >= Math.floor(shareFloor * length + 1e-9), `${begun} of ${length}`)
            }
          },
        }
        new ServingLoop(isEdf ? feasibleEdfPolicy(options) : horizonPolicy(options), watcher).run(
          turns,
        )
      },
    ),
    { numRuns: runs(EVERYDAY, LONG_RUNS) },
  )
})

test.each(ALL)(
  'the same history gives the same decisions, with listeners or without, whatever the capacity: %s',
  (_name, policy) => {
    const logOf = (
      turns: Parameters<ServingLoop['run']>[0],
      initialRequests: number,
      listens: boolean,
    ): string[] => {
      const log: string[] = []
      const loop = new ServingLoop(
        policy,
        {
          step(decision) {
            const { view, ...rest } = decision
            log.push(JSON.stringify([rest, [...view]]))
            view[Symbol.iterator]()
          },
        },
        { capacity: { initialRequests, maxRequests: 1 << 17 } },
      )
      if (listens) {
        for (const name of [
          'decision',
          'protected',
          'lost',
          'cap',
          'end',
          'firstResponse',
        ] as const)
          loop.scheduler.events.on(name, () => {})
      }
      loop.run(turns)
      return log
    }
    fc.assert(
      fc.property(histories(30), (turns) => {
        const log = logOf(turns, 0, false)
        expect(logOf(turns, 40_000, true)).toEqual(log)
      }),
      { numRuns: runs(8, LONG_RUNS) },
    )
  },
)
