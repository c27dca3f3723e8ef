/**
 * @module
 * Reads the pipeline file that a command was given.
 */
import { readFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { HorizonError } from '../core/errors.js'
import {
  type DeployFile,
  type HardwareKind,
  type Pipeline,
  type ReadPipeline,
  readDeployFile,
  readHardware,
  readPipeline,
} from '../deploy/index.js'

/** Largest pipeline file that is read, in bytes. */
const MAX_BYTES = 4 * 2 ** 20

export function loadPipeline(file: string): ReadPipeline & { readonly file: string } {
  return { ...readPipeline(readText(file, 'a pipeline'), file), file }
}

/** Kinds of GPU that a user describes. */
export function loadHardware(file: string): Readonly<Record<string, HardwareKind>> {
  return readHardware(readText(file, 'a hardware file'), file)
}

/** A deploy file with those that it builds on, each relative to the one that names it. */
export function loadDeployFile(file: string): DeployFile {
  return readDeployFile(file, (named, from) => {
    const path = from === undefined || isAbsolute(named) ? named : join(dirname(from), named)
    return { path, text: readText(path, 'a deploy file') }
  })
}

/** The file that a pipeline's plan is to start from, where it names one. */
export function loadBase(pipeline: Pipeline, file: string): DeployFile | undefined {
  const base = pipeline.engines['vllm-omni']?.base
  if (base === undefined) return undefined
  return loadDeployFile(isAbsolute(base) ? base : join(dirname(file), base))
}

/** The text of a small file, or an error that says what is wrong with it. */
export function readText(file: string, what: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new HorizonError('ERR_CLI_FILE', `cannot read ${file}`, {
      hint: error instanceof Error ? error.message : String(error),
      cause: error,
    })
  }
  if (text.length > MAX_BYTES)
    throw new HorizonError('ERR_CLI_FILE', `${file} is too large for ${what}`, {
      expected: `at most ${MAX_BYTES} bytes`,
      got: text.length,
    })
  return text
}

/** Version of this package. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
