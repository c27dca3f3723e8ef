/**
 * @module
 * A running server from outside, and a server to try it on: the twin.
 */
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
export { type TwinClass, type TwinSpec, type TwinSpecInput, twinSpec } from './twin/twin-spec.js'
