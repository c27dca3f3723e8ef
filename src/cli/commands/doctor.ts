/**
 * @module
 * `horizonserve doctor`: what this machine offers, line by line, with what to do about what is missing. Looks, changes nothing; exits
 * with 0 whatever it finds, since a machine without a GPU is a fine place for most of this library.
 */

import { listSegments } from '../../adapters/discover.js'
import { inspectSegment } from '../../adapters/inspect.js'
import { isHorizonError } from '../../core/errors.js'
import { runDoctor } from '../../gpu/doctor.js'
import type { FindingStatus } from '../../gpu/finding.js'
import { type CliCommand, EXIT } from '../command.js'

const MARK: Readonly<Record<FindingStatus, string>> = {
  ok: 'ok     ',
  warning: 'warning',
  missing: 'missing',
}

export const command: CliCommand = {
  name: 'doctor',
  summary: 'Say what this machine offers: driver, GPU, Green Contexts, MPS, shared memory, engines',
  configure(command) {
    command
      .option('--json', 'print one JSON object')
      .option(
        '--engine [name]',
        'look at running engines instead, or at the one of this name: stages, processes, controller',
      )
      .option(
        '--cuda-library <path>',
        'CUDA driver library (default: HORIZON_LIBCUDA, else libcuda.so.1)',
      )
      .option(
        '--nvml-library <path>',
        'NVML library (default: HORIZON_LIBNVML, else libnvidia-ml.so.1)',
      )
  },
  async run(_args, options, io) {
    if (options.engine !== undefined)
      return lookAtEngines(options.engine, options.json === true, io.out)
    const report = runDoctor({
      cuda: typeof options.cudaLibrary === 'string' ? { libraryPath: options.cudaLibrary } : {},
      nvml: typeof options.nvmlLibrary === 'string' ? { libraryPath: options.nvmlLibrary } : {},
    })
    if (options.json === true) {
      io.out(`${JSON.stringify(report)}\n`)
      return EXIT.ok
    }
    for (const finding of report.findings) {
      io.out(`${MARK[finding.status]}  ${finding.text}\n`)
      if (finding.advice !== undefined) io.out(`         -> ${finding.advice}\n`)
    }
    io.out(`\n${report.summary}\nWorks here: ${report.works.join('; ')}.\n`)
    return EXIT.ok
  },
}

/** What stands in the segments of running engines. Answers "no" where an engine is asked for by name and no process of it lives. */
function lookAtEngines(asked: unknown, asJson: boolean, out: (text: string) => void): number {
  const names = typeof asked === 'string' ? [asked] : listSegments()
  const looks = names.map((name) => {
    try {
      return inspectSegment(name, process.hrtime.bigint())
    } catch (error) {
      if (!isHorizonError(error)) throw error
      return { name, trouble: error.message }
    }
  })
  const isAlive = looks.some((look) => 'stages' in look && look.stages.some((s) => s.isAlive))
  if (asJson) out(`${JSON.stringify(looks)}\n`)
  else if (looks.length === 0)
    out('no engine runs here with our scheduler in it: none has made a segment in /dev/shm\n')
  else
    for (const look of looks) {
      if ('trouble' in look) {
        out(`engine ${look.name}: ${look.trouble}\n`)
        continue
      }
      const { controller, isHeld } = look
      const steered =
        controller !== undefined
          ? `controller process ${controller.pid}, mode ${controller.mode}`
          : isHeld
            ? 'a controller holds it and does not beat; the engine goes on by itself'
            : 'controller none; first come first served'
      out(`engine ${look.name}: ${steered}\n`)
      for (const s of look.stages) {
        const state = !s.isAlive ? 'dead' : s.isBeating ? 'alive' : 'alive, not beating'
        out(
          `  stage ${s.stage}: process ${s.pid}, ${state}, running ${s.running}, waiting ${s.waiting}, step ${s.steps}\n`,
        )
      }
    }
  return typeof asked === 'string' && !isAlive ? EXIT.negative : EXIT.ok
}
