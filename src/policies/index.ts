export {
  createEndpointBook,
  type EndpointBook,
  type EndpointClass,
} from './endpoint-book.js'
export { type EndpointReading, endpointGauges } from './endpoint-gauges.js'
export {
  createEndpointOutlook,
  type EndpointOutlook,
  type EndpointOutlookOptions,
  type EndpointSample,
  emptySample,
} from './endpoint-outlook.js'
export {
  correctedEstimate,
  createPick,
  type EndpointEstimate,
  type EndpointRule,
  type EndpointRuleOptions,
  type EndpointScore,
  endpointRule,
  heldNow,
  type Pick,
  type PickRequest,
  pickEndpoint,
  publishedEstimate,
} from './endpoint-rule.js'
export { type FixedCapOptions, fixedCap } from './fixed-cap.js'
export { type LatenessOptions, lateness } from './lateness.js'
export { defaultLongPathCap, type LongPathCapOptions, longPathCap } from './long-path-cap.js'
export { noCap } from './no-cap.js'
export { edf, fcfs, strictPriority } from './orders.js'
export {
  defaultPathRotation,
  type PathRotationOptions,
  pathRotation,
  shortSteps,
} from './path-rotation.js'
export {
  edfPolicy,
  feasibleEdfPolicy,
  type HorizonPolicyOptions,
  horizonPolicy,
  literalPolicy,
  type PlacesOptions,
  placesPolicy,
  strictPriorityPolicy,
  vanillaPolicy,
} from './presets.js'
export {
  type Curve,
  requestProfiler,
  type StageCost,
  type StageProfile,
} from './request-profiler.js'
export { DEFAULT_U_GUARD, slackGuard } from './slack-guard.js'
export { RESERVE_U_LOST, type SlotReserveOptions, slotReserve } from './slot-reserve.js'
export { defaultSmThrottle, type SmThrottleOptions, smThrottle } from './sm-throttle.js'
export { defaultTriage, type TriageOptions, triage } from './triage.js'
