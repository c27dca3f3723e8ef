/**
 * @module
 * A twin as a dashboard sees it: its scheduler, how well this process keeps up with real time, what it stands for.
 */
import { createPictureTaker } from '../../dashboard/picture.js'
import type { DashboardSource, HealthLine } from '../../dashboard/serve-dashboard.js'
import type { Twin } from './twin.js'

/** An event of the model handled later than this makes its times wrong. */
const LATE_MS = 20

export function twinDashboard(twin: Twin): DashboardSource {
  const { spec, engine, tallies } = twin
  const takePicture = createPictureTaker(engine.horizon)
  const { name, omni, silenceMs, sloMultiplier } = spec
  const shown = { policy: twin.policy, classes: twin.classes, name, silenceMs, sloMultiplier, omni }
  const configuration = { text: JSON.stringify(shown, null, 2), reloadedAt: '', changed: [] }
  const since = { lagMs: 0, until: 0 }
  return {
    title: `horizonserve twin: ${name}, policy ${twin.policy} (simulated)`,
    picture: () => takePicture(twin.nowMs()),
    health: (): HealthLine[] => {
      // The worst of the last seconds, so that it can be read.
      const lagMs = twin.takeWorstLagMs()
      if (lagMs >= since.lagMs || Date.now() > since.until) {
        since.lagMs = lagMs
        since.until = Date.now() + 5000
      }
      const { inFlight, preemptions, kvFraction } = engine
      const isLate = since.lagMs > LATE_MS
      return [
        {
          name: 'real time',
          state: isLate ? 'warn' : 'good',
          text: `the model's events are handled at most ${since.lagMs.toFixed(1)} ms late${isLate ? '; times are wrong by as much' : ''}`,
        },
        {
          name: 'engine',
          state: 'good',
          text: `${inFlight} requests, ${engine.steps} steps, ${preemptions} preemptions, ${(100 * kvFraction).toFixed(0)} % of the KV cache`,
        },
        {
          name: 'refused',
          state: tallies.failed > 0 ? 'warn' : 'good',
          text: `${tallies.failed} requests found no room`,
        },
      ]
    },
    configuration: () => configuration,
  }
}
