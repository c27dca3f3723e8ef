/**
 * @module
 * One controller for all engines of a server: replicas of the shared stage, data parallel ranks, replicas of later stages. Each has a
 * segment of its own, `x`, `x.1`, `x.2` …, and is steered by itself; what they have in common is one long-path budget where they share
 * devices, and the later stages, where any of them may go on with any request.
 */
import { listSegments, segmentPath } from '../adapters/discover.js'
import { type Controller, type ControllerOptions, createController } from './controller.js'
import type { EngineLink } from './engine-link.js'
import { mergeReports } from './merge-reports.js'

export interface ServerControllerOptions extends Omit<ControllerOptions, 'path' | 'peers'> {
  /** Name of the server: HORIZONSERVE_SEGMENT of its engines. */
  readonly name: string
}

/** The controller of a server; one engine is the usual case. */
export type ServerController = Omit<Controller, 'link'>

export function createServerController(options: ServerControllerOptions): ServerController {
  const { name, log } = options
  const engines = new Map<string, Controller>()
  let { config } = options
  let share = options.share ?? 1
  let present = new Set<string>()
  let saidLockstep = false

  function* linksBeside(own: string): Iterable<EngineLink> {
    for (const [other, engine] of engines)
      if (other !== own && engine.link !== undefined) yield engine.link
  }

  const take = (segment: string): Controller => {
    const engine = createController({
      ...options,
      config,
      share,
      path: segmentPath(segment),
      // Each engine is recorded by itself.
      ...(options.record === undefined || segment === name
        ? {}
        : { record: { ...options.record, path: `${options.record.path}.${segment}` } }),
      peers: () => linksBeside(segment),
      log: (level, text) => log(level, segment === name ? text : `${segment}: ${text}`),
    })
    engines.set(segment, engine)
    return engine
  }
  const first = take(name)

  /** Engines come and go; the first name is always waited for. */
  const look = (): void => {
    present = new Set(listSegments().filter((segment) => isOf(segment, name)))
    for (const segment of present) if (!engines.has(segment)) take(segment)
    for (const [segment, engine] of engines) {
      if (segment === name || present.has(segment)) continue
      engines.delete(segment)
      void engine.stop()
    }
    if (engines.size > 1 && first.mode === 'lockstep' && !saidLockstep) {
      saidLockstep = true
      log(
        'warn',
        'several engines in lockstep: each is steered for itself, without a common budget, and does not hear what the later stages of the others tell',
      )
    }
  }
  const all = (): Controller[] => [...engines.values()]

  return {
    get mode() {
      return first.mode
    },
    report: () =>
      mergeReports(
        [...engines]
          .map(([segment, engine]) => ({ segment, report: engine.report() }))
          // The name that is waited for may stand for no engine at all.
          .filter(({ segment, report }) => report !== undefined || present.has(segment)),
      ),
    attach() {
      look()
      return all()
        .map((engine) => engine.attach())
        .some((attached) => attached)
    },
    watch() {
      look()
      for (const engine of all()) engine.watch()
    },
    async reload(next) {
      // What one refuses, all do; the first says so before anything has changed.
      await first.reload(next)
      config = next
      for (const engine of all()) if (engine !== first) await engine.reload(next)
    },
    async setShare(next) {
      await first.setShare(next)
      share = next
      for (const engine of all()) if (engine !== first) await engine.setShare(next)
    },
    async stop() {
      await Promise.all(all().map((engine) => engine.stop()))
    },
  }
}

/** `x` and its replicas `x.1`, `x.2` …; not `x.old` and not `xy`. */
export function isOf(segment: string, name: string): boolean {
  return (
    segment === name ||
    (segment.startsWith(`${name}.`) && /^[0-9]{1,3}$/.test(segment.slice(name.length + 1)))
  )
}
