/**
 * @module
 * The deploy files of a plan, line by line, or written into the project.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { HorizonError } from '../../core/errors.js'
import { machine } from '../bounds/machine.js'
import type { EmittedFile } from '../emit/engine-stages.js'
import { emitMermaid } from '../emit/mermaid.js'
import { emitSglangOmni } from '../emit/sglang-omni.js'
import { emitVllmOmni } from '../emit/vllm-omni.js'
import { writeInside } from '../loop/write-inside.js'
import { plan } from '../search/plan.js'
import { planInput } from './static-tools.js'
import { APPENDS, cursorInput, defineTool, nextCursor, offsetOf } from './tool.js'

export const emitTool = defineTool({
  name: 'emit',
  title: 'Write the deploy file',
  description:
    "Deploy files of the best plan for the budget. Prints one file by pages; with 'folder', writes all of them into that folder of the project.",
  input: z.strictObject({
    ...planInput,
    objective: z.enum(['latency', 'rate']).default('latency'),
    format: z.enum(['vllm-omni', 'sglang-omni', 'mermaid']),
    file: z.string().max(200).optional().describe('Which file to print; the first by default'),
    folder: z.string().min(1).max(400).optional().describe('Folder inside the project to write to'),
    cursor: cursorInput,
  }),
  output: z.strictObject({
    files: z.array(
      z.strictObject({ name: z.string(), bytes: z.int(), written: z.string().optional() }),
    ),
    file: z.string(),
    lines: z.array(z.string()),
    nextCursor,
  }),
  annotations: APPENDS,
  run: async (args, session) => {
    const { graph, locate } = session.pipeline(args.pipeline)
    const gpus = machine({ gpus: args.gpus, hardware: args.hardware })
    const { plans, missing } = plan(graph, gpus, {
      objective: args.objective,
      locate,
      nodes: args.effort,
    })
    const best = plans[0]
    if (best === undefined) {
      throw new HorizonError('ERR_DEPLOY_BUDGET', missing?.text ?? 'no placement fits', {
        field: 'gpus',
        hint: "Ask 'plan' with more GPUs or a lower floor",
      })
    }
    const files: readonly EmittedFile[] =
      args.format === 'vllm-omni'
        ? emitVllmOmni(graph, gpus, best)
        : args.format === 'sglang-omni'
          ? emitSglangOmni(graph, gpus, best)
          : [{ name: 'pipeline.mmd', text: emitMermaid(graph, best.placement) }]
    const chosen = files.find((file) => file.name === (args.file ?? files[0]!.name))
    if (chosen === undefined) {
      throw new HorizonError('ERR_DEPLOY_EMIT', 'there is no such file', {
        field: 'file',
        expected: files.map((file) => file.name).join(', '),
        got: args.file,
      })
    }
    const folder = args.folder
    const listed = files.map((file) => ({
      name: file.name,
      bytes: Buffer.byteLength(file.text),
      ...(folder !== undefined && { written: write(session.root, folder, file) }),
    }))
    const body = { files: listed, file: chosen.name, lines: chosen.text.split('\n') }
    return { body, paged: 'lines', from: offsetOf(args.cursor) }
  },
})

/** Writes one file below the project, never over a different one; returns its path relative to it. */
function write(root: string, folder: string, file: EmittedFile): string {
  const path = join(folder, file.name)
  if (writeInside(root, path, file.text, 'folder') === 'different') {
    throw new HorizonError('ERR_DEPLOY_EMIT', 'a different file of that name is there', {
      field: path,
      expected: 'a folder of its own, for example deploy-out',
      hint: 'Choose another folder, or move the file away',
    })
  }
  return path
}
