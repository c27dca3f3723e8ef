export {
  type WrapOptions,
  type WrappableScheduler,
  type WrappedScheduler,
  wrap,
} from './in-process.js'
