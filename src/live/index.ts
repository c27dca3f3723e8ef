/**
 * @module
 * A running server from outside, and a server to try it on: the twin.
 */

export { type Attached, type AttachedClass, type AttachOptions, attach } from './attach/attach.js'
export { attachedConfig, attachedYaml, heldOutError } from './attach/attached-config.js'
export { CLASS_NAMES, probeClasses, readFacts, type ServerFacts } from './attach/facts.js'
export { type HttpProbeServer, httpServer } from './attach/http-server.js'
export { refreshYaml } from './attach/refresh.js'
export { type Discovered, discoverClasses } from './load/discover-classes.js'
export type { LoadRecord, Outcome } from './load/load-record.js'
export { renderLoadReport } from './load/load-report.js'
export {
  type LoadResult,
  loadResultSchema,
  parseLoadResult,
  summarizeLoad,
} from './load/load-result.js'
export { type LoadOptions, type LoadRun, runLoad } from './load/run-load.js'
export {
  type LoadArrivals,
  type LoadSchedule,
  scheduleLoad,
  scheduleTrace,
} from './load/schedule.js'
export {
  type LoadClass,
  type LoadClassInput,
  loadClassSchema,
  parseLoadClasses,
} from './load-class.js'
export type { Dialect } from './twin/answers.js'
export type { TwinEngine } from './twin/engine.js'
export type { Limits } from './twin/http-entry.js'
export { createTwin, type Twin, type TwinOptions } from './twin/twin.js'
export { twinDashboard } from './twin/twin-dashboard.js'
export { type TwinClass, type TwinSpec, type TwinSpecInput, twinSpec } from './twin/twin-spec.js'
