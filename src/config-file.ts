/**
 * @module
 * Configuration from disk: YAML or JSON by extension, with environment overrides.
 */
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { LineCounter, parseDocument } from 'yaml'
import { type HorizonConfig, type HorizonParts, parseConfig } from './config.js'
import { applyEnvironment } from './config-environment.js'
import { HorizonError } from './core/errors.js'
import { createScheduler, type Scheduler } from './core/scheduler.js'
import type { SchedulerOptions } from './core/scheduler-options.js'

export { applyEnvironment } from './config-environment.js'
export { configJsonSchema } from './config-schema.js'

/**
 * Reads a configuration, applies overrides (pass `{}` for none) and checks it.
 * Throws `ERR_CONFIG_FILE` when it cannot be read or parsed, with the line, and what `parseConfig` throws.
 */
export async function loadConfig(
  path: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  parts: HorizonParts = {},
): Promise<SchedulerOptions> {
  return parseConfig(await readConfig(path, environment), parts)
}

/** A scheduler straight from a file. */
export async function createHorizonFromFile(
  path: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  parts: HorizonParts = {},
): Promise<Scheduler> {
  return createScheduler(await loadConfig(path, environment, parts))
}

/** The configuration as written, overrides applied, not yet checked beyond being a mapping with classes. */
export async function readConfig(
  path: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<HorizonConfig> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw new HorizonError('ERR_CONFIG_FILE', 'the file cannot be read', {
      field: path,
      cause,
      hint: cause instanceof Error ? cause.message : '',
    })
  }
  const value = extname(path) === '.json' ? parseJson(path, text) : parseYaml(path, text)
  if (
    typeof value !== 'object' ||
    value === null ||
    typeof (value as { classes?: unknown }).classes !== 'object'
  ) {
    throw new HorizonError('ERR_CONFIG_FILE', 'this is no configuration', {
      field: path,
      expected: 'a mapping with "classes" and "profile"',
      got: value,
    })
  }
  return applyEnvironment(value as HorizonConfig, environment)
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HorizonError('ERR_CONFIG_FILE', 'not JSON', {
      field: path,
      cause,
      hint: cause instanceof Error ? cause.message : '',
    })
  }
}

function parseYaml(path: string, text: string): unknown {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [error] = document.errors
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0])
    throw new HorizonError('ERR_CONFIG_FILE', error.message, {
      field: `${path}:${line}:${col}`,
      cause: error,
    })
  }
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (cause) {
    throw new HorizonError('ERR_CONFIG_FILE', 'the aliases of this file cannot be resolved', {
      field: path,
      cause,
      hint: cause instanceof Error ? cause.message : '',
    })
  }
}
