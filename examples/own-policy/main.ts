/**
 * A policy of one's own beside the paper's, on one simulated workload: `npx tsx examples/own-policy/main.ts`.
 * The idea: while a short-path request is near its deadline, no long-path request is started.
 */
import { LONG, ORDINARY, PROTECTED, SHORT, type ViewFilter } from 'horizonserve/core'
import { horizonPolicy } from 'horizonserve/policies'
import { comparePolicies } from 'horizonserve/sim'

const shortFirst = (): ViewFilter => ({
  name: 'short-first',
  filter(signals, groups) {
    if (signals.waitingOn(SHORT, PROTECTED) > 0) groups.limit(LONG, ORDINARY, 0)
  },
})
const base = horizonPolicy({ rotation: false })
const own = { ...base, name: 'short-first', filters: () => [...base.filters(), shortFirst()] }

const results = comparePolicies(['vanilla', 'horizonserve-literal', 'horizonserve', own], {
  rate: 0.45,
  longFraction: 0.3,
  requests: 400,
})
for (const { policy, summary } of results) {
  const share = (100 * summary.all.attainmentOverArrived).toFixed(1)
  console.log(`${policy.padEnd(22)} ${share} % of all that arrived met their SLO`)
}
