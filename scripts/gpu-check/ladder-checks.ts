/**
 * @module
 * Checks of the ladder: counts, identity of SMs within one process, cost of a switch, cost of a context.
 */
import { readMemory } from '../../src/gpu/device.js'
import { createGreenContextActuator } from '../../src/gpu/green-context-actuator.js'
import { createGreenContextLadder } from '../../src/gpu/green-context-ladder.js'
import type { Side } from '../../src/gpu/ladder-row.js'
import { type Check, type CheckContext, spread, timeCalls } from './check.js'

/** Counts are read back, sides sum to the device, rows rise, and a dry run says the same. */
export const counts: Check = {
  name: 'ladder-counts',
  run({ cuda, device, ladder }) {
    const failed: string[] = []
    let below = 0
    for (const row of ladder.rows) {
      if (row.sharedSms + row.downstreamSms !== device.numSms)
        failed.push(
          `row ${row.index}: ${row.sharedSms} + ${row.downstreamSms} are not ${device.numSms}`,
        )
      if (row.kind === 'co-running' && row.sharedSms <= below)
        failed.push(`row ${row.index} does not rise`)
      below = row.sharedSms
    }
    const dry = createGreenContextLadder(cuda, device, {
      description: ladder.describe(),
      dryRun: true,
    })
    if (JSON.stringify(dry.rows) !== JSON.stringify(ladder.rows))
      failed.push('a dry run has other rows')
    dry.close()
    return {
      failed,
      values: { rows: ladder.rows, dropped: ladder.dropped, description: ladder.describe() },
    }
  },
}

/** Which SMs the kernels of each side really ran on, by %smid. */
export const smIdentity: Check = {
  name: 'smid-one-process',
  run(context) {
    const { ladder, device } = context
    const failed: string[] = []
    const sets: Record<string, number[]> = {}
    let lower: number[] = []
    for (const row of ladder.rows.slice(0, ladder.aggressiveIndex)) {
      const shared = probe(context, row.index, 'shared')
      const downstream = probe(context, row.index, 'downstream')
      sets[`${row.sharedSms}/${row.downstreamSms}`] = [shared.length, downstream.length]
      const both = shared.filter((id) => downstream.includes(id))
      if (both.length > 0) failed.push(`row ${row.index}: both sides ran on SM ${both.join(', ')}`)
      if (shared.length > row.sharedSms)
        failed.push(`row ${row.index}: shared ran on ${shared.length} SMs`)
      if (downstream.length > row.downstreamSms)
        failed.push(`row ${row.index}: downstream ran on ${downstream.length} SMs`)
      if (row.method === 'groups' && lower.some((id) => !shared.includes(id)))
        failed.push(`row ${row.index} does not contain the row below`)
      if (row.method === 'groups') lower = shared
    }
    const off = probe(context, ladder.offIndex, 'shared')
    if (off.length > device.numSms)
      failed.push(`the device ran on ${off.length} SMs of ${device.numSms}`)
    const again = createGreenContextLadder(context.cuda, device, { description: ladder.describe() })
    const first = probe(context, 0, 'shared')
    const second = probe({ ...context, ladder: again }, 0, 'shared')
    again.close()
    return {
      failed,
      values: {
        ranOn: sets,
        whole: off.length,
        sameSmsWhenBuiltAgain: first.join() === second.join(),
      },
    }
  },
}

/** The union of a few probes: one launch need not touch every SM. */
function probe({ cuda, ladder, stages }: CheckContext, row: number, side: Side): number[] {
  cuda.call('cuCtxSetCurrent', ladder.context(row, side))
  const seen = new Set<number>()
  for (let i = 0; i < 3; i++)
    for (const id of stages.probeSms(ladder.stream(row, side))) seen.add(id)
  cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, side))
  return [...seen].sort((a, b) => a - b)
}

/** Cost of a switch over 1e5 of them, and that the row is in force afterwards. */
export const switching: Check = {
  name: 'switch',
  run({ cuda, ladder, quick }) {
    const actuator = createGreenContextActuator(cuda, ladder, 'shared')
    const numRows = ladder.rows.length
    const numSwitches = quick ? 2000 : 100_000
    timeCalls(2000, (i) => actuator.apply(i % numRows))
    const switchNs = spread(timeCalls(numSwitches, (i) => actuator.apply(i % numRows)))
    const failed: string[] = []
    for (const row of ladder.rows) {
      actuator.apply(row.index)
      if (actuator.readBack() !== row.index)
        failed.push(`row ${row.index} is not in force after a switch`)
    }
    actuator.apply(ladder.offIndex)
    const start = process.hrtime.bigint()
    for (let i = 0; i < numSwitches; i++) actuator.apply(i % numRows)
    const meanSwitchNs = Math.round(Number(process.hrtime.bigint() - start) / numSwitches)
    actuator.apply(ladder.offIndex)
    return {
      failed,
      values: { numSwitches, switchNs, meanSwitchNs, clockNs: spread(timeCalls(2000, () => 0)) },
    }
  },
}

/** Time and device memory of a ladder, per context. */
export const creation: Check = {
  name: 'creation',
  run({ cuda, device, ladder, quick }) {
    const description = ladder.describe()
    const perContextMs: number[] = []
    const perContextBytes: number[] = []
    const numContexts =
      (description.levels.length + (description.aggressive.method === 'whole' ? 0 : 1)) * 2
    for (let i = 0; i < (quick ? 2 : 12); i++) {
      const before = readMemory(cuda).freeBytes
      const start = process.hrtime.bigint()
      const another = createGreenContextLadder(cuda, device, { description })
      perContextMs.push(Number(process.hrtime.bigint() - start) / 1e6 / numContexts)
      perContextBytes.push((before - readMemory(cuda).freeBytes) / numContexts)
      another.close()
      cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'shared'))
    }
    return {
      failed: [],
      values: {
        numContexts,
        perContextMs: spread(perContextMs),
        perContextBytes: spread(perContextBytes),
      },
    }
  },
}
