/**
 * A toy engine with its own scheduler, put under a policy: `npx tsx examples/custom-scheduler/main.ts`.
 * The scheduler stays as it was: a waiting array, and a step that fills four slots, first come, first served.
 */
import { createHorizon } from 'horizonserve'
import { wrap } from 'horizonserve/adapters'

type Item = { name: string; handle: number; stepsLeft: number }

class ToyScheduler {
  queue: Item[] = []
  running: Item[] = []
  readonly waiting = {
    take: (): Item[] => this.queue.splice(0),
    put: (items: Item[]): void => void this.queue.splice(0, this.queue.length, ...items),
  }
  schedule(): Item[] {
    while (this.running.length < 4 && this.queue.length > 0) this.running.push(this.queue.shift()!)
    return [...this.running]
  }
}

const downstream = { fixedMs: 900 }
const horizon = createHorizon({
  classes: { chat: { output: 'text', sloMs: 400 }, speech: { output: 'audio', sloMs: 20_000 } },
  profile: { chat: { shared: { fixedMs: 60 } }, speech: { shared: { fixedMs: 90 }, downstream } },
})
const toy = new ToyScheduler()
const scheduler = wrap(toy, horizon, { handleOf: (item) => item.handle })

// A burst of speech comes just before four chats: under first come, first served they would wait for it.
function arrive(name: string, kind: 'chat' | 'speech', stepsLeft: number): void {
  toy.queue.push({ name, stepsLeft, handle: horizon.arrive({ class: kind, promptTokens: 500 }, 0) })
}
for (let i = 1; i <= 6; i++) arrive(`speech ${i}`, 'speech', 8)
for (let i = 1; i <= 4; i++) arrive(`chat ${i}`, 'chat', 2)

for (let nowMs = 0; toy.queue.length + toy.running.length > 0; nowMs += 50) {
  const batch = scheduler.step(nowMs)
  const names = batch.map((item) => item.name).join(', ')
  console.log(`${String(nowMs).padStart(5)} ms  ${scheduler.decision.phase.padEnd(5)}  ${names}`)
  for (const item of batch) {
    horizon.progress(item.handle, 500, 1)
    item.stepsLeft -= 1
    if (item.stepsLeft > 0) continue
    horizon.firstResponse(item.handle, nowMs + 50)
    horizon.finish(item.handle)
    toy.running.splice(toy.running.indexOf(item), 1)
  }
}
const { chat, speech } = horizon.metrics().classes
console.log(
  `in time: ${chat.met} of ${chat.arrived} chats, ${speech.met} of ${speech.arrived} speeches`,
)
