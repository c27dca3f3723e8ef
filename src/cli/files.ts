/**
 * @module
 * Reading and writing files that a user names: what goes wrong is bad input that names the path.
 */
import { accessSync, constants, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { HorizonError } from '../core/index.js'

/** `-` is standard input. */
export function readText(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (cause) {
    throw new HorizonError('ERR_CLI_READ', 'cannot read the file', {
      ...reason(cause),
      field: path,
    })
  }
}

export function readJson(path: string): unknown {
  const text = readText(path)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HorizonError('ERR_CLI_READ', 'not valid JSON', { ...reason(cause), field: path })
  }
}

/** Throws `ERR_CLI_WRITE` unless a file could be written there. For before the work of which it is to hold the result. */
export function expectWritable(path: string): void {
  const exists = existsSync(path)
  try {
    if (exists && !statSync(path).isDirectory()) accessSync(path, constants.W_OK)
    else if (exists) throw new Error('it is a folder')
    else accessSync(dirname(path), constants.W_OK)
  } catch (cause) {
    throw new HorizonError('ERR_CLI_WRITE', 'cannot write the file', {
      ...reason(cause),
      field: path,
    })
  }
}

/** `onlyNew`: an existing file is an error instead of being overwritten. */
export function writeText(path: string, text: string, onlyNew = false): void {
  try {
    writeFileSync(path, text, { flag: onlyNew ? 'wx' : 'w' })
  } catch (cause) {
    throw new HorizonError('ERR_CLI_WRITE', 'cannot write the file', {
      ...reason(cause),
      field: path,
    })
  }
}

function reason(cause: unknown): { got: unknown; cause: unknown } {
  return { got: cause instanceof Error ? cause.message : cause, cause }
}
