/**
 * A controller for the engine suite: `controller.ts <segment> <mode> [config as JSON]`. The same code as `horizonserve run`, with an
 * answer long enough to compare whole views. Ends on SIGTERM, and by itself after an hour.
 */
import { segmentPath } from '../../src/adapters/discover.js'
import { createController } from '../../src/controller/controller.js'

const [name = 'default', mode = 'auto', extra = '{}'] = process.argv.slice(2)
const controller = createController({
  path: segmentPath(name),
  mode: mode as 'auto' | 'published' | 'lockstep',
  answerLimit: 2000,
  log: (level, text) => console.error(level, text),
  config: {
    classes: { text: { output: 'text', sloMs: 200 }, speech: { output: 'audio', sloMs: 1000 } },
    profile: {
      text: { shared: { fixedMs: 5, promptTokens: [[1, 0.1]] } },
      speech: { shared: { fixedMs: 10, promptTokens: [[1, 0.2]] }, downstream: { fixedMs: 100 } },
    },
    ...JSON.parse(extra),
  },
})
const look = setInterval(() => {
  controller.watch()
}, 20)
const end = (): void => {
  clearInterval(look)
  void controller.stop().then(() => process.exit(0))
}
process.on('SIGTERM', end)
setTimeout(end, 3_600_000)
