export { HorizonError, isHorizonError } from './core/errors.js'
