/**
 * @module
 * Question: what does one control-state update cost the controller? A new pressure sample, the core's step with its cap, and the table
 * written to shared memory. Unit: ns per update. The paper's monitor takes 33,000. Bias: two classes; the segment is a file in
 * /dev/shm that nobody reads meanwhile.
 */
import { unlinkSync, writeFileSync } from 'node:fs'
import { crc32 } from '../src/adapters/crc32.js'
import {
  EVENT_BYTES,
  LAYOUT_HASH,
  MAGIC,
  RINGS_OFFSET,
  WIRE_VERSION,
} from '../src/adapters/layout.js'
import { attachSegment } from '../src/adapters/segment.js'
import { buildControl } from '../src/controller/control-setup.js'
import { monotonicNs } from '../src/controller/monotonic-clock.js'
import { createPublisher } from '../src/controller/publisher.js'
import type { Bench } from './bench.js'

export const bench: Bench = {
  name: 'monitor-update',
  question: 'What does one control-state update cost the controller?',
  async run({ quick }) {
    const path = `/dev/shm/horizonserve-bench-monitor-${process.pid}`
    writeFileSync(path, emptySegment(), { mode: 0o600 })
    const segment = attachSegment(path)
    const { scheduler, rules, descriptions } = buildControl({
      classes: { text: { output: 'text', sloMs: 200 }, speech: { output: 'audio', sloMs: 1000 } },
      profile: {
        text: { shared: { fixedMs: 5 } },
        speech: { shared: { fixedMs: 10 }, downstream: { fixedMs: 100 } },
      },
      ladder: { totalSms: 132, levels: [16, 40, 64, 104], aggressiveSms: 132 },
    })
    const level = { level: -1, capSms: 0, headroomSms: 0 }
    const publisher = createPublisher(
      segment,
      () => scheduler,
      level,
      () => true,
    )
    publisher.setRules(rules, descriptions)
    const samples: number[] = []
    const warm = 2000
    for (let k = 0; k < warm + (quick ? 2000 : 20_000); k++) {
      const start = monotonicNs()
      const decision = scheduler.step(Number(start) / 1e6, (k % 100) / 100, true)
      level.level = decision.level
      level.capSms = decision.capSms
      level.headroomSms = decision.headroomSms
      publisher.update(start, true)
      const took = Number(monotonicNs() - start)
      if (k >= warm) samples.push(took)
    }
    segment.close()
    unlinkSync(path)
    samples.sort((a, b) => a - b)
    return {
      monitorUpdateNs: samples[samples.length >> 1],
      monitorUpdateP99Ns: samples[Math.floor(samples.length * 0.99)],
    }
  },
}

function emptySegment(): Uint8Array {
  const total = RINGS_OFFSET + 64 * EVENT_BYTES
  const bytes = new Uint8Array(total)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, MAGIC, true)
  view.setUint32(8, LAYOUT_HASH, true)
  view.setUint32(12, WIRE_VERSION, true)
  view.setUint32(16, total, true)
  view.setUint32(20, 1, true)
  view.setUint32(24, 64, true)
  view.setUint32(60, crc32(bytes, 0, 0, 60), true)
  return bytes
}
