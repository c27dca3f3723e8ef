/**
 * @module
 * Modules of Node for the few functions of the simulator that read or write files. They are asked for when one of those is called, so
 * that everything else is imported by browsers and bundlers as it stands.
 */
import { HorizonError } from '../core/errors.js'

interface NodeModules {
  readonly 'node:crypto': typeof import('node:crypto')
  readonly 'node:fs': typeof import('node:fs')
  readonly 'node:path': typeof import('node:path')
  readonly 'node:zlib': typeof import('node:zlib')
}

/** Throws `ERR_SIM_NODE_UNAVAILABLE` where there is no Node. */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  const found = globalThis.process?.getBuiltinModule?.(name)
  if (found !== undefined) return found as NodeModules[Name]
  throw new HorizonError('ERR_SIM_NODE_UNAVAILABLE', 'this function reads or writes files', {
    expected: `Node 20.19 or newer, for ${name}`,
    hint: 'In a browser, fetch the text and use the function that parses it',
  })
}
