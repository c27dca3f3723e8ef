/**
 * @module
 * Base orders: first come first served, earliest deadline first, strict priority. An order decides how a view is read, not what is in it.
 */
import type { Order } from '../core/ports.js'

/** First come, first served. */
export const fcfs: Order = Object.freeze({ name: 'fcfs', kind: 'arrival' })

/** Earliest first-response deadline first. */
export const edf: Order = Object.freeze({ name: 'edf', kind: 'deadline' })

/** Lower class priority first (the paper's field: 0 text, 10 audio, 20 image), then arrival. */
export const strictPriority: Order = Object.freeze({
  name: 'strict-priority',
  kind: 'key',
  key: (list: { readonly priority: number }) => list.priority,
})
