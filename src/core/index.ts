export { type ErrorCode, type ErrorDetails, HorizonError, isHorizonError } from './errors.js'
