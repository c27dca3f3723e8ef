/**
 * @module
 * The rules of the analysis, each with a stable id: what a deployment may do to a pipeline, or must not.
 */

export const RULES = Object.freeze({
  'stream-edge': {
    id: 'HSD101',
    text: 'A streaming edge lets the consumer start before the producer has finished the request; a blocking edge does not.',
  },
  'stream-output': {
    id: 'HSD102',
    text: 'Output chunks may be displayed while later ones are made.',
  },
  'sequence-parallel': { id: 'HSD201', text: 'A node may be split over GPUs along the sequence.' },
  'tensor-parallel': { id: 'HSD202', text: 'A node may be split over GPUs along its weights.' },
  'tile-parallel': { id: 'HSD203', text: 'A node may work on tiles on several GPUs.' },
  'co-locate': {
    id: 'HSD301',
    text: 'Nodes may share one group of GPUs: no transfer between them, and a higher degree for each in the same budget.',
  },
  disaggregate: {
    id: 'HSD302',
    text: 'Nodes with no persistent state in common (or with state that can be moved) may stand on different groups.',
  },
  'parallel-branches': {
    id: 'HSD303',
    text: 'Nodes that neither data nor state orders inside a batch may run at the same time.',
  },
  'pipeline-batches': {
    id: 'HSD304',
    text: 'A node may work on the next batch while the next node works on this one, unless something leads back to it.',
  },
  'pipeline-steps': {
    id: 'HSD305',
    text: 'Denoising steps may be pipelined over batches, one group per step, when each keeps a state of its own.',
  },
  asynchronous: {
    id: 'HSD306',
    text: 'A node that runs per request or on an event may run beside the stream: it enters the latency, not the period.',
  },
  'share-read': {
    id: 'HSD307',
    text: 'Nodes that only read a state need no order between them; on different groups each group keeps a copy.',
  },
} as const)

export type RuleName = keyof typeof RULES

/** The rule for each kind of parallelism inside a node. */
export const PARALLEL_RULES = Object.freeze({
  sequence: 'sequence-parallel',
  tensor: 'tensor-parallel',
  tiles: 'tile-parallel',
} as const)
