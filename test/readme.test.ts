import { expect, test } from 'vitest'
import { createHorizon } from '../src/index.js'

test('createHorizon runs the loop of the README', () => {
  const horizon = createHorizon({
    classes: { chat: { output: 'text', sloMs: 400 }, speech: { output: 'audio', sloMs: 6000 } },
    profile: {
      chat: {
        shared: {
          promptTokens: [
            [0, 15],
            [4000, 160],
          ],
        },
      },
      speech: {
        shared: {
          promptTokens: [
            [0, 40],
            [4000, 200],
          ],
        },
        downstream: { fixedMs: 450 },
      },
    },
    ladder: { totalSms: 142, levels: [48, 64, 80] },
    rotation: { m: 2, nMin: 2, nMax: 8 },
    uGuard: 2,
    longPathCap: 2,
  })
  const h = horizon.arrive({ class: 'speech', promptTokens: 812 }, 0)
  horizon.arrive({ class: 'chat', promptTokens: 100, id: 'a' }, 1)
  // @ts-expect-error class names are inferred
  expect(() => horizon.arrive({ class: 'nope' }, 1)).toThrow(/ERR|unknown class/)
  const d = horizon.step(2, 0.5, false)
  expect([...d.view]).toEqual([horizon.handleOf('a')])
  expect(horizon.explain(h)).toMatch(/hidden in this step: step 0 is a short-path step/)
  expect(d.capSms).toBe(142)
})
