/**
 * @module
 * Reads `loop.yaml` and its pipeline into a project that `openLoop` takes. Everything wrong with the file is one error that
 * names the fields.
 */
import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { HorizonError } from '../../core/errors.js'
import type { Backend } from '../harness/backend.js'
import { EXACT } from '../harness/compare.js'
import type { ScriptedRequest } from '../harness/drive.js'
import { jsonLinesBackend } from '../harness/json-lines-backend.js'
import { openAiBackend } from '../harness/openai-backend.js'
import { type ReadPipeline, readPipeline } from '../ir/read-pipeline.js'
import { containedPath } from './contained-path.js'
import { findingsOf } from './findings.js'
import { type BackendDeclaration, type LoopFile, loopFileSchema } from './loop-file.js'
import type { LoopProject } from './loop-project.js'
import { digestOf } from './workspace.js'

/** Name of the file in a project folder. */
export const LOOP_FILE = 'loop.yaml'

export interface ReadLoopProject {
  readonly file: LoopFile
  readonly read: ReadPipeline
  readonly project: LoopProject
}

/** Reads the project in `root`. */
export function readLoopProject(root: string): ReadLoopProject {
  const file = readLoopFile(root)
  const read = readProjectPipeline(root, file.pipeline)
  const verifyScript = file.verify.map(scripted)
  const templatePath = file.candidate.template
  const template = templatePath && containedPath(root, templatePath, 'candidate.template')
  const referenceFolder = file.reference.folder
  return {
    file,
    read,
    project: {
      name: file.name,
      folder: containedPath(root, file.folder, 'folder'),
      gates: file.gates,
      budget: file.budget,
      findings: findingsOf(read.graph),
      reference: backendOf(
        'reference',
        file.reference,
        folderOf(root, referenceFolder, 'reference.folder'),
      ),
      referenceDigest:
        referenceFolder === undefined
          ? null
          : digestOf(containedPath(root, referenceFolder, 'reference.folder')),
      candidate: (id, workspace) => backendOf(id, file.candidate.backend, workspace),
      ...(template !== undefined && { template }),
      verifyScript,
      measureScript: file.measure?.map(scripted) ?? verifyScript,
      tolerances: { ...EXACT, ...file.tolerances },
      ...(file.mediaMsPerOutput !== undefined && { mediaMsPerOutput: file.mediaMsPerOutput }),
      warmUpRuns: file.warmUpRuns,
      coolDownMs: file.coolDownMs,
    },
  }
}

/** The file alone, checked. */
export function readLoopFile(root: string): LoopFile {
  const path = containedPath(root, LOOP_FILE, 'project')
  if (!existsSync(path)) {
    throw new HorizonError('ERR_DEPLOY_LOOP_FILE', 'the project has no loop.yaml', {
      field: LOOP_FILE,
      expected: 'a file that declares the pipeline, the reference, the candidate and the inputs',
      hint: 'See skills/deploy/references/loop-file.md for a complete one',
    })
  }
  let raw: unknown
  try {
    raw = parse(readFileSync(path, 'utf8'), { maxAliasCount: 100 })
  } catch (error) {
    throw new HorizonError(
      'ERR_DEPLOY_LOOP_FILE',
      `not readable as YAML: ${(error as Error).message}`,
      { field: LOOP_FILE },
    )
  }
  const parsed = loopFileSchema.safeParse(raw)
  if (parsed.success) return parsed.data
  const lines = parsed.error.issues.map(
    (issue) => `${LOOP_FILE}: ${issue.path.join('.') || 'the file'}: ${issue.message}`,
  )
  throw new HorizonError('ERR_DEPLOY_LOOP_FILE', lines.join('\n'))
}

/** A pipeline inside the project. */
export function readProjectPipeline(root: string, path: string): ReadPipeline {
  const full = containedPath(root, path, 'pipeline')
  if (!existsSync(full)) {
    throw new HorizonError('ERR_DEPLOY_LOOP_FILE', 'the pipeline file is not there', {
      field: 'pipeline',
      got: path,
      hint: 'Write the IR first: skills/deploy/references/ir.md describes it',
    })
  }
  const text = readFileSync(full, 'utf8')
  const before = lastRead.get(full)
  if (before?.text === text) return before.read
  const read = readPipeline(text, path)
  lastRead.set(full, { text, read })
  return read
}

/** A file that has not changed gives the graph it gave before, and with it what was computed about that graph. */
const lastRead = new Map<string, { readonly text: string; readonly read: ReadPipeline }>()

function folderOf(root: string, folder: string | undefined, field: string): string {
  return folder === undefined ? root : containedPath(root, folder, field)
}

function scripted(request: LoopFile['verify'][number]): ScriptedRequest {
  return 'inputs' in request ? request : { inputs: [request] }
}

function backendOf(name: string, declared: BackendDeclaration, cwd: string): Backend {
  const { env, readyMs } = declared
  if (declared.kind === 'program')
    return jsonLinesBackend(name, { command: programOf(declared.command), cwd, env, readyMs })
  const { baseUrl, path, headers, command } = declared
  return openAiBackend(name, {
    baseUrl,
    headers,
    ...(path !== undefined && { path }),
    ...(command && { server: { command: programOf(command), cwd, env, readyMs } }),
  })
}

/** `node` is this Node: the one the loop's own measurements were made with. */
function programOf(command: readonly string[]): [string, ...string[]] {
  const [program, ...args] = command
  return [program === 'node' ? process.execPath : program!, ...args]
}
