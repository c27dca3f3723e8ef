import type { ControlState } from '../../src/adapters/control-state.js'

/** A control state with nothing special about it. */
export function someState(): ControlState {
  return {
    publishedNs: 1n,
    epoch: 1,
    tableEpoch: 1,
    classEpoch: 1,
    flags: 7,
    n: 0,
    nMin: 2,
    nMax: 8,
    m: 2,
    longCap: 2,
    level: 1,
    levelSms: 32,
    headroomSms: 100,
    longDownstream: 0,
    pressureRaw: 0.5,
    pressure: 0.25,
    shareFloor: 0.05,
    classes: [
      { sloMs: 200, slowdown: 1, waitMs: 0, uGuard: 2, uLost: 1, path: 0, priority: 0 },
      { sloMs: 1000, slowdown: 1.5, waitMs: 20, uGuard: 2, uLost: 1, path: 1, priority: 10 },
    ],
  }
}
