/**
 * @module
 * `horizonserve doctor`: what this machine offers, line by line, with what to do about what is missing. Looks, changes nothing; exits
 * with 0 whatever it finds, since a machine without a GPU is a fine place for most of this library.
 */

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
        '--cuda-library <path>',
        'CUDA driver library (default: HORIZON_LIBCUDA, else libcuda.so.1)',
      )
      .option(
        '--nvml-library <path>',
        'NVML library (default: HORIZON_LIBNVML, else libnvidia-ml.so.1)',
      )
  },
  async run(_args, options, io) {
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
