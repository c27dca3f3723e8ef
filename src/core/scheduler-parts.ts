/**
 * @module
 * The parts of a scheduler, wired together. What they do stands in their own files.
 */

import { type AlwaysVisible, createAlwaysVisible } from './always-visible.js'
import { doubles } from './columns.js'
import { expectInteger } from './errors.js'
import { createEstimates, type Estimates } from './estimates.js'
import {
  type Announcer,
  createAnnouncer,
  type RequestName,
  type SchedulerEmitter,
} from './events.js'
import { createGroups, type Groups } from './groups.js'
import { createLadder, type Ladder, NO_LADDER } from './ladder.js'
import { createMetricsRecorder, type MetricsRecorder } from './metrics.js'
import type { Policy, Profiler } from './ports.js'
import { type ClassTable, createClassTable } from './request-class.js'
import { CHUNK_BITS, CHUNK_MASK, createRequestTable, type RequestTable } from './request-table.js'
import type { SchedulerOptions } from './scheduler-options.js'
import { createSignals, type Signals } from './signals.js'
import { createView, type LazyView } from './view.js'
import { createWaitingSet, type WaitingSet } from './waiting-set.js'

export interface SchedulerParts<Name extends string = string> {
  readonly classes: ClassTable<Name>
  readonly ladder: Ladder
  readonly policy: Policy
  readonly events: SchedulerEmitter
  /**
   * The allocation-free way in: `cells[0]` is now in ms, `cells[1]` pressure (NaN for none), `inputs` those of the next arrival
   * (see `INPUT`). Then call `arriveNow` and `stepNow`.
   */
  readonly cells: Float64Array
  readonly inputs: Float64Array

  /** @internal `[0]`: latest time seen. */ readonly latest: Float64Array
  /** @internal */ readonly profiler: Profiler
  /** @internal */ readonly table: RequestTable
  /** @internal */ readonly waitingSet: WaitingSet
  /** @internal */ readonly signals: Signals
  /** @internal */ readonly groups: Groups
  /** @internal */ readonly estimates: Estimates
  /** @internal */ readonly always: AlwaysVisible
  /** @internal */ readonly view: LazyView
  /** @internal */ readonly recorder: MetricsRecorder
  /** @internal */ readonly announcer: Announcer
  /** @internal Ids by handle, and handles by id. */ readonly ids: Map<number, string>
  /** @internal */ readonly handles: Map<string, number>
}

/** Class and id of the request of a handle; of its class also just after it ended. */
export function nameOf({ table, classes, ids }: SchedulerParts, handle: number): RequestName {
  const slot = handle & ((1 << table.slotBits) - 1)
  const c = table.chunks[slot >> CHUNK_BITS]!.classIndex[slot & CHUNK_MASK]!
  return { class: classes.names[c]!, id: ids.get(handle) }
}

export function createParts<Name extends string>(
  options: SchedulerOptions<Name>,
): SchedulerParts<Name> {
  const { policy, profiler, capacity } = options
  const { order, urgency } = policy
  const classes = createClassTable(options.classes)
  const ladder = options.ladder === undefined ? NO_LADDER : createLadder(options.ladder)
  const table = createRequestTable({
    initialRequests: capacity?.initialRequests ?? 0,
    maxRequests: capacity?.maxRequests ?? 1 << 20,
  })
  const estimates = createEstimates(classes, options.estimates)
  const { slowdown, waitMs } = estimates
  expectInteger('ERR_CORE_CAPACITY', 'capacity.ownSlos', capacity?.ownSlos ?? 0, 0)
  const cells = Float64Array.of(0, NaN)
  const waitingSet = createWaitingSet(
    table,
    classes,
    order,
    urgency,
    cells,
    slowdown,
    waitMs,
    capacity?.ownSlos ?? 64,
  )
  const signals = createSignals(classes, waitingSet)
  const groups = createGroups(classes)
  const always = createAlwaysVisible(table, signals)
  const announcer = createAnnouncer()
  return {
    classes,
    ladder,
    policy,
    events: announcer.events,
    cells,
    inputs: doubles(4),
    latest: Float64Array.of(-Infinity),
    profiler,
    table,
    waitingSet,
    signals,
    groups,
    estimates,
    always,
    view: createView(table, waitingSet, groups, order, always.head),
    recorder: createMetricsRecorder(classes),
    announcer,
    ids: new Map(),
    handles: new Map(),
  }
}
