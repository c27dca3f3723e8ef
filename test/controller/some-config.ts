import type { HorizonConfig } from '../../src/config.js'

/** Two classes, one of each path. */
export function someConfig(more: Partial<HorizonConfig> = {}): HorizonConfig {
  return {
    classes: { text: { output: 'text', sloMs: 200 }, speech: { output: 'audio', sloMs: 1000 } },
    profile: {
      text: { shared: { fixedMs: 5, promptTokens: [[1, 0.1]] } },
      speech: { shared: { fixedMs: 10, promptTokens: [[1, 0.2]] }, downstream: { fixedMs: 100 } },
    },
    ...more,
  }
}
