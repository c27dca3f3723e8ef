import { expect, test } from 'vitest'
import type { PressureSample } from '../../src/core/ports.js'
import { createHorizon } from '../../src/index.js'

test('a source that stops knowing leaves downstream activity alone to decide, and starts anew when it knows again', () => {
  let reading: number | undefined = 0.9
  let renewedMs = 0
  const horizon = createHorizon(
    {
      classes: { text: { output: 'text', sloMs: 200 } },
      profile: { text: { shared: { fixedMs: 5 } } },
      ladder: { totalSms: 132, levels: [16, 40, 64, 104] },
    },
    {
      pressureSource: {
        name: 'scripted',
        sample(out: PressureSample) {
          if (reading === undefined) return false
          renewedMs += 1
          Object.assign(out, { value: reading, timestampMs: renewedMs })
          return true
        },
      },
    },
  )
  expect(horizon.step(1, undefined, true).capSms).toBe(104)
  reading = undefined
  expect(horizon.step(2, undefined, true).capSms).toBe(16)
  expect(horizon.smoothedPressure()).toBeNaN()
  reading = 0.45
  // Not smoothed with what was before the gap.
  expect(horizon.step(3, undefined, true).capSms).toBe(64)
  expect(horizon.smoothedPressure()).toBe(0.45)
})
