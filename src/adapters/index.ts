export {
  createClassifier,
  type Modality,
  type ModalityClass,
  type RequestMarks,
} from './classify.js'
export type { ClassRow, ControlState } from './control-state.js'
export { listSegments, removeIfDead, segmentPath } from './discover.js'
export type { EngineEvent } from './events.js'
export {
  type WrapOptions,
  type WrappableScheduler,
  type WrappedScheduler,
  wrap,
} from './in-process.js'
export { requestHash } from './request-hash.js'
export { createRingReader, type RingCounts, type RingReader } from './ring.js'
export { attachSegment, type Segment, type StageLine } from './segment.js'
export type { SegmentHeader } from './segment-file.js'
