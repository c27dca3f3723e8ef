/** A serving loop driven by a seed: everything that an engine can do to a scheduler, in any order that is legal. */
import type { HorizonConfig } from '../../src/config.js'
import type { PressureSource } from '../../src/core/index.js'
import type { Scheduler } from '../../src/core/scheduler.js'
import { createRng } from '../../src/sim/rng.js'

export const CONFIG = {
  classes: {
    chat: { output: 'text', sloMs: 400 },
    listen: { output: 'text', inputs: ['audio'], sloMs: 900 },
    speech: { output: 'audio', sloMs: 4000 },
  },
  profile: {
    chat: {
      shared: {
        promptTokens: [
          [0, 15],
          [4000, 160],
        ],
      },
    },
    listen: {
      shared: {
        audioSeconds: [
          [0, 20],
          [30, 200],
        ],
      },
    },
    speech: { shared: { fixedMs: 60 }, downstream: { fixedMs: 450 } },
  },
  ladder: { totalSms: 132, levels: [64, 80, 96, 112], aggressiveSms: 132 },
} satisfies HorizonConfig

/** A source that has a reading now and then, and none for a while. */
export function wavySource(clock: () => number): PressureSource {
  return {
    name: 'wavy',
    sample(out) {
      const at = Math.floor(clock() / 170)
      if (at % 7 === 6) return false
      out.value = 0.5 + 0.5 * Math.sin(at)
      out.timestampMs = at * 170
      out.kind = 'memory-activity'
      out.source = 'wavy'
      return true
    },
  }
}

/** `clock` is moved along. Returns the number of requests that were admitted. */
export function serve(
  scheduler: Scheduler,
  steps: number,
  seed: number,
  clock: { nowMs: number },
): number {
  const random = createRng(seed)
  const pick = (n: number): number => Math.floor(random.next() * n)
  const running: { handle: number; isLong: boolean; responded: boolean; isDown: boolean }[] = []
  const waiting: number[] = []
  let admitted = 0
  const admit = (handle: number): void => {
    scheduler.admit(handle)
    admitted += 1
    const row = waiting.indexOf(handle)
    if (row >= 0) waiting.splice(row, 1)
    running.push({ handle, isLong: isLong.get(handle) === true, responded: false, isDown: false })
  }
  const isLong = new Map<number, boolean>()
  for (let s = 0; s < steps; s++) {
    clock.nowMs += random.next() * 25
    for (let n = pick(3); n > 0 && waiting.length < 80; n--) {
      const c = pick(3)
      let handle: number
      if (pick(2) === 0) {
        scheduler.cells[0] = clock.nowMs
        scheduler.inputs.set([pick(4000), pick(30), 0, 0])
        handle = scheduler.arriveNow(c)
      } else {
        const name = scheduler.classes.names[c]!
        handle = scheduler.arrive(
          {
            class: name,
            promptTokens: pick(4000),
            ...(pick(5) === 0 && { sloMs: 50 + pick(900) }),
          },
          clock.nowMs,
        )
      }
      isLong.set(handle, c === 2)
      waiting.push(handle)
    }
    const decision =
      pick(4) === 0
        ? scheduler.step(clock.nowMs, pick(2) === 0 ? random.next() : undefined, pick(2) === 0)
        : scheduler.step(clock.nowMs)
    if (waiting.length > 0 && pick(3) === 0) scheduler.isVisible(waiting[pick(waiting.length)]!)
    if (pick(20) === 0) for (const handle of decision.view) if (pick(3) === 0) admit(handle)
    for (let room = pick(4); room > 0 && running.length < 24; room--) {
      const handle = decision.view.take()
      if (handle === 0) break
      if (pick(6) > 0) admit(handle)
    }
    for (let n = pick(4); n > 0 && running.length > 0; n--) {
      const at = pick(running.length)
      const one = running[at]!
      const what = pick(8)
      clock.nowMs += random.next()
      if (what === 0 && !one.isDown && !one.responded) {
        scheduler.preempt(one.handle)
        running.splice(at, 1)
        waiting.push(one.handle)
      } else if (what === 1) {
        scheduler.cancel(one.handle)
        running.splice(at, 1)
      } else if (one.responded) {
        scheduler.finish(one.handle)
        running.splice(at, 1)
      } else if (one.isLong && !one.isDown) {
        scheduler.progress(one.handle, 4000, 1)
        if (pick(2) === 0) scheduler.handedOver(one.handle)
        scheduler.enterDownstream(one.handle)
        one.isDown = true
      } else {
        if (!one.isDown) scheduler.progress(one.handle, 4000, 1)
        scheduler.firstResponse(one.handle, clock.nowMs)
        one.responded = true
      }
    }
    if (pick(50) === 0) {
      const handle = scheduler.arrive({ class: 'chat', promptTokens: 5 }, clock.nowMs)
      waiting.push(handle)
      scheduler.pin(handle)
    }
    if (waiting.length > 4 && pick(60) === 0) {
      const [handle] = waiting.splice(pick(waiting.length), 1)
      scheduler.shed(handle!)
    }
    if (pick(90) === 0) scheduler.setSlowdown(scheduler.classes.names[pick(3)]!, 1 + pick(5))
  }
  return admitted
}
