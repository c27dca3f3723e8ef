/**
 * @module
 * How a request enters: checked, annotated by the profiler, stamped with its deadline, and put into its list.
 */

import { bucketCell, bucketInCell, bucketMs, NUM_BUCKETS } from './bucket.js'
import { checkClass, checkInput, checkRecord, checkTime, partFailed } from './call-checks.js'
import { doubles } from './columns.js'
import { ABOVE_0, expectNumber, expectThat, HorizonError } from './errors.js'
import { INPUT, WORK } from './ports.js'
import { CHUNK_BITS, CHUNK_MASK, WAITING } from './request-table.js'
import type { ArrivingRequest } from './scheduler-options.js'
import type { SchedulerParts } from './scheduler-parts.js'
import type { WaitingList } from './waiting-lists.js'

/** Longest solo time that is told apart, ms: the last bucket. Keeps sums of them finite. */
const MAX_WORK_MS = bucketMs[NUM_BUCKETS - 1]!

export interface Arrivals<Name extends string> {
  arrive(request: ArrivingRequest<Name>, nowMs: number): number
  arriveNow(classIndex: number): number
}

export function createArrivals<Name extends string>(parts: SchedulerParts<Name>): Arrivals<Name> {
  const { classes, profiler, inputs, cells, latest, table, waitingSet, recorder } = parts
  const { ids, handles } = parts
  const { chunks } = table
  const work = doubles(3)
  const nextSeq = doubles(1)

  /** Asks the profiler, and holds its answer to what the estimates can carry. */
  const annotate = (c: number): void => {
    try {
      profiler.annotate(c, inputs, work)
    } catch (cause) {
      throw partFailed('ERR_CORE_PROFILER', `profile.${classes.names[c]}`, cause)
    }
    for (let k = 0; k < 3; k++) {
      if (!(work[k]! >= 0))
        expectNumber('ERR_CORE_PROFILER', `profile.${classes.names[c]}`, work[k]!, 0)
      if (work[k]! > MAX_WORK_MS) work[k] = MAX_WORK_MS
    }
  }

  /** The list of the annotated request; an order of the user's own may refuse it. */
  const listOf = (c: number, sloMs: number | undefined): WaitingList => {
    bucketCell[0] = work[WORK.shared]! + work[WORK.downstream]!
    return waitingSet.lists.find(c, bucketInCell(), sloMs)
  }

  /** Puts the annotated request into its list. The table has room. */
  const enqueue = (c: number, sloMs: number | undefined, list: WaitingList): number => {
    const now = cells[0]!
    if (now > latest[0]!) latest[0] = now
    const slot = table.allocate()
    const chunk = chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    chunk.classIndex[i] = c
    chunk.state[i] = WAITING
    chunk.promptTokens[i] = inputs[INPUT.promptTokens]!
    chunk.arrivalMs[i] = now
    chunk.deadlineMs[i] = now + list.sloMs
    chunk.graceMs[i] = (sloMs ?? classes.sloMs[c]!) - list.sloMs
    chunk.seq[i] = nextSeq[0]!
    nextSeq[0]! += 1
    chunk.sharedWorkMs[i] = work[WORK.shared]!
    chunk.downstreamWorkMs[i] = work[WORK.downstream]!
    chunk.downstreamBusyMs[i] = work[WORK.downstreamBusy]!
    waitingSet.append(slot, list)
    recorder.counters[c]!.arrived += 1
    waitingSet.flush()
    return table.handleOf(slot)
  }

  return {
    arrive(request, nowMs) {
      checkRecord('request', request)
      const c = checkClass(classes, request.class)
      const { id, sloMs } = request
      const promptTokens = checkInput('promptTokens', request.promptTokens, 0x7fffffff)
      const audioSeconds = checkInput('audioSeconds', request.audioSeconds)
      const images = checkInput('images', request.images)
      const videos = checkInput('videos', request.videos)
      if (sloMs !== undefined) expectNumber('ERR_CORE_INPUT', 'sloMs', sloMs, ABOVE_0)
      if (id !== undefined) {
        expectThat(
          typeof id === 'string',
          'ERR_CORE_INPUT',
          'impossible value',
          'id',
          'a string',
          id,
        )
      }
      if (id !== undefined && handles.has(id)) {
        throw new HorizonError('ERR_CORE_DUPLICATE_ID', 'the id belongs to a live request', {
          field: 'id',
          got: id,
        })
      }
      checkTime(nowMs, latest)
      if (table.live >= table.maxRequests) {
        throw new HorizonError('ERR_CORE_FULL', 'no room for another request', {
          field: 'capacity.maxRequests',
          got: table.maxRequests,
          hint: 'Raise capacity.maxRequests, or refuse requests earlier',
        })
      }
      inputs[INPUT.promptTokens] = promptTokens
      inputs[INPUT.audioSeconds] = audioSeconds
      inputs[INPUT.images] = images
      inputs[INPUT.videos] = videos
      annotate(c)
      const list = listOf(c, sloMs)
      cells[0] = nowMs
      const handle = enqueue(c, sloMs, list)
      if (id !== undefined) {
        handles.set(id, handle)
        ids.set(handle, id)
      }
      return handle
    },
    arriveNow(c) {
      if (table.live >= table.maxRequests) return 0
      annotate(c)
      return enqueue(c, undefined, listOf(c, undefined))
    },
  }
}
