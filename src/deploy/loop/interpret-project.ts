/**
 * @module
 * The interpreter on a project: its node program against its reference backend, on its verification inputs.
 */
import { HorizonError } from '../../core/errors.js'
import type { BackendSession } from '../harness/backend.js'
import { drive, outputsOf } from '../harness/drive.js'
import { type CheckReport, checkAgainstReference } from '../interpreter/check-against-reference.js'
import type { PipelineRequest } from '../interpreter/interpret.js'
import { nodeProgram } from '../interpreter/node-program.js'
import { folderOf, type ReadLoopProject } from './read-loop-project.js'

/** Interprets at most `maxRequests` of the verification's requests and compares every chunk. */
export async function interpretProject(
  root: string,
  { file, read, project }: ReadLoopProject,
  maxRequests: number,
): Promise<CheckReport> {
  if (file.nodes === undefined) {
    throw new HorizonError('ERR_DEPLOY_LOOP_FILE', 'the project names no node program', {
      field: 'nodes',
      expected: "{ command: [...] } in loop.yaml: a program that computes the pipeline's nodes",
      hint: 'skills/deploy/references/interpreter.md of this package describes it, first-project.md has one',
    })
  }
  const { folder, command, env, idleMs } = file.nodes
  const [program, ...args] = command
  const nodes = nodeProgram({
    command: [program === 'node' ? process.execPath : program!, ...args],
    cwd: folderOf(root, folder, 'nodes.folder'),
    env,
    idleMs,
  })
  const scripts = project.verifyScript.slice(0, maxRequests)
  const perRequest = read.graph.entries.some(
    (index) => read.graph.tasks[index]!.node.runs === 'request',
  )
  let session: BackendSession | undefined
  try {
    session = await project.reference.open()
    const expected = new Map<PipelineRequest, unknown[]>()
    for (const script of scripts) {
      const values = script.inputs.map((input) => input.value)
      const request: PipelineRequest = perRequest ? { request: values[0] } : { batches: values }
      expected.set(request, outputsOf(await drive(session, [script]))[0]!)
    }
    const requests = [...expected.keys()]
    let next = 0
    // The check asks for the reference of each request once, in order.
    const reference = (): unknown[] => expected.get(requests[next++]!)!
    const { given } = file
    return await checkAgainstReference(read.graph, nodes, reference, requests, {
      given,
      tolerances: project.tolerances,
    })
  } finally {
    await Promise.all([nodes.close(), session?.close()])
  }
}
