/**
 * @module
 * `horizonserve plan FILE --gpus N`: the best placements of a pipeline, the proof, and the files that carry them out.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { HorizonError } from '../../core/errors.js'
import {
  chromeTrace,
  type DeployFile,
  type EmittedFile,
  emitMermaid,
  emitSglangOmni,
  emitVllmOmni,
  ganttHtml,
  machine,
  type Plan,
  plan,
  planRow,
  renderPlans,
  type TaskGraph,
} from '../../deploy/index.js'
import { type CliCommand, EXIT } from '../command.js'
import { loadBase, loadHardware, loadPipeline } from '../load-pipeline.js'

const OBJECTIVES = ['latency', 'rate', 'pareto'] as const
const TARGETS = ['vllm-omni', 'sglang-omni', 'mermaid'] as const
const OVERLAPS = ['nested', 'disjoint', 'any'] as const

export const command: CliCommand = {
  name: 'plan',
  summary: 'where the stages of a pipeline should run on N GPUs, and the deploy file for it',
  configure(command: Command): void {
    command
      .argument('<file>', 'a pipeline in YAML or JSON')
      .requiredOption('--gpus <n>', 'GPUs to use')
      .option('--hardware <kinds>', "such as 'b200', or 'b200:4,h100:4'", 'any')
      .option('--memory <gib>', 'memory of a GPU in GiB, instead of the preset of its kind')
      .option('--hardware-file <file>', 'kinds of GPU of your own, in YAML')
      .option('--gpus-per-host <n>', 'GPUs of one host', '8')
      .option('--objective <objective>', `one of ${OBJECTIVES.join(', ')}`, 'pareto')
      .option('--min-rate <rate>', "floor under the rate, in the pipeline's unit per second")
      .option('--overlap <rule>', `how groups may overlap: ${OVERLAPS.join(', ')}`, 'nested')
      .option('--nodes <n>', 'partial placements to look at before giving up the proof', '300000')
      .option('--seconds <n>', 'stop after this many seconds with the best plan so far and its gap')
      .option('--seed <n>', 'seed of the part that is not exhaustive', '1')
      .option('--emit <target>', `print the first plan for ${TARGETS.join(', ')}`)
      .option('--out <dir>', 'write what --emit prints, a Gantt chart and a Chrome trace there')
      .option('--json', 'one JSON object')
  },
  async run(args, options, io) {
    const objective = oneOf('--objective', OBJECTIVES, options.objective)
    const emit = options.emit === undefined ? undefined : oneOf('--emit', TARGETS, options.emit)
    const { graph, locate } = loadPipeline(args[0]!)
    const gpus = machine({
      gpus: number('--gpus', options.gpus),
      hardware: String(options.hardware),
      gpusPerHost: number('--gpus-per-host', options.gpusPerHost),
      ...(options.hardwareFile !== undefined && {
        kinds: loadHardware(String(options.hardwareFile)),
      }),
      ...(options.memory !== undefined && { memoryGiB: number('--memory', options.memory) }),
    })
    if (gpus.gpus.some((gpu) => !Number.isFinite(gpu.memoryGiB)) && needsMemory(graph))
      io.err(
        "no memory is checked: hardware 'any' has none; name the GPUs with --hardware or give --memory\n",
      )
    const result = plan(graph, gpus, {
      objective,
      locate,
      overlap: oneOf('--overlap', OVERLAPS, options.overlap),
      nodes: number('--nodes', options.nodes),
      seed: number('--seed', options.seed),
      ...(options.seconds !== undefined && deadline(number('--seconds', options.seconds))),
      ...(options.minRate !== undefined && {
        minRatePerSec: number('--min-rate', options.minRate),
      }),
    })
    const first = result.plans[0]
    if (first === undefined) {
      const { missing } = result
      if (options.json === true) io.out(`${JSON.stringify({ plans: [], missing })}\n`)
      else io.err(`${missing?.text ?? 'nothing fits'}\n`)
      return EXIT.negative
    }
    const files =
      emit === undefined
        ? []
        : emitted(emit, graph, gpus, first, () => loadBase(graph.pipeline, args[0]!))
    if (options.out !== undefined) write(String(options.out), graph, first, files, io.err)
    if (options.json === true) {
      const { front } = result
      const body = {
        plans: result.plans.map(planRow),
        ...(front && { front }),
        ...(files.length > 0 && { files }),
      }
      io.out(`${JSON.stringify(body)}\n`)
    } else if (emit !== undefined && options.out === undefined) {
      for (const [index, file] of files.entries())
        io.out(
          files.length > 1
            ? `${index > 0 ? '---\n' : ''}# file: ${file.name}\n${file.text}`
            : file.text,
        )
    } else io.out(renderPlans(graph, result))
    return EXIT.ok
  },
}

/** True from so many seconds on. */
function deadline(seconds: number): { readonly expired: () => boolean } {
  const endMs = performance.now() + seconds * 1000
  return { expired: () => performance.now() >= endMs }
}

function needsMemory(graph: TaskGraph): boolean {
  return graph.tasks.some(({ node }) => typeof node.memoryGiB === 'object' || node.memoryGiB > 0)
}

function emitted(
  target: (typeof TARGETS)[number],
  graph: TaskGraph,
  gpus: ReturnType<typeof machine>,
  first: Plan,
  base: () => DeployFile | undefined,
): EmittedFile[] {
  if (target === 'vllm-omni') return emitVllmOmni(graph, gpus, first, base())
  if (target === 'sglang-omni') return emitSglangOmni(graph, gpus, first)
  return [{ name: 'pipeline.mmd', text: emitMermaid(graph, first.placement) }]
}

function write(
  folder: string,
  graph: TaskGraph,
  first: Plan,
  files: readonly EmittedFile[],
  say: (text: string) => void,
): void {
  const all: readonly EmittedFile[] = [
    ...files,
    { name: 'gantt.html', text: ganttHtml(graph, first) },
    { name: 'trace.json', text: chromeTrace(graph, first) },
  ]
  try {
    mkdirSync(folder, { recursive: true })
    for (const file of all) writeFileSync(join(folder, file.name), file.text)
  } catch (error) {
    throw new HorizonError('ERR_CLI_FILE', `cannot write to ${folder}`, { cause: error })
  }
  say(`wrote ${all.map((file) => join(folder, file.name)).join(', ')}\n`)
}

function oneOf<T extends string>(field: string, known: readonly T[], value: unknown): T {
  const found = known.find((item) => item === value)
  if (found !== undefined) return found
  throw new HorizonError('ERR_CLI_OPTION', 'unknown value', {
    field,
    expected: `one of ${known.join(', ')}`,
    got: value,
  })
}

function number(field: string, value: unknown): number {
  const parsed = Number(value)
  if (Number.isFinite(parsed) && parsed >= 0 && String(value).trim() !== '') return parsed
  throw new HorizonError('ERR_CLI_OPTION', 'not a number', {
    field,
    expected: 'a number',
    got: value,
  })
}
