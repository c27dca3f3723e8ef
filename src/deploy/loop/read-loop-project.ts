/**
 * @module
 * Reads `loop.yaml` and its pipeline into a project that `openLoop` takes. Everything wrong with the file is one error that
 * names the fields.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { parse } from 'yaml'
import { HorizonError, isHorizonError } from '../../core/errors.js'
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
  const template = templatePath && folderOf(root, templatePath, 'candidate.template')
  const referenceFolder = file.reference.folder
  return {
    file,
    read,
    project: {
      name: file.name,
      root: realpathSync(root),
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
          : digestOf(folderOf(root, referenceFolder, 'reference.folder')),
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
      hint: `Write it first: ${FIRST_PROJECT}`,
    })
  }
  let raw: unknown
  try {
    raw = parse(readText(path, LOOP_FILE), { maxAliasCount: 100 })
  } catch (error) {
    if (isHorizonError(error)) throw error
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
  throw new HorizonError('ERR_DEPLOY_LOOP_FILE', lines.join('\n'), { hint: FIRST_PROJECT })
}

const FIRST_PROJECT =
  'skills/deploy/references/first-project.md of this package is a whole project, loop-file.md and ir.md beside it say what may be in each file'

/** A pipeline inside the project. */
export function readProjectPipeline(root: string, path: string): ReadPipeline {
  const full = containedPath(root, path, 'pipeline')
  if (!existsSync(full)) {
    throw new HorizonError('ERR_DEPLOY_LOOP_FILE', 'the pipeline file is not there', {
      field: 'pipeline',
      got: path,
      hint: `Write the IR first: ${FIRST_PROJECT}`,
    })
  }
  const text = readText(full, path)
  const before = lastRead.get(full)
  if (before?.text === text) return before.read
  const read = readPipeline(text, path)
  lastRead.set(full, { text, read })
  return read
}

/** A folder, a pipe or a model that is named by mistake must not hold up or fill the reader. */
function readText(full: string, path: string): string {
  const stat = statSync(full)
  if (stat.isFile() && stat.size <= MAX_TEXT_BYTES) return readFileSync(full, 'utf8')
  throw new HorizonError('ERR_DEPLOY_LOOP_FILE', 'this is no file to read', {
    field: path,
    expected: `a plain YAML file of at most ${MAX_TEXT_BYTES} bytes`,
    got: stat.isFile() ? `${stat.size} bytes` : 'something else than a file',
  })
}

const MAX_TEXT_BYTES = 4 * 2 ** 20

/** A file that has not changed gives the graph it gave before, and with it what was computed about that graph. */
const lastRead = new Map<string, { readonly text: string; readonly read: ReadPipeline }>()

/** A folder of the project that must be there. */
export function folderOf(root: string, folder: string | undefined, field: string): string {
  if (folder === undefined) return root
  const path = containedPath(root, folder, field)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path
  throw new HorizonError('ERR_DEPLOY_LOOP_FILE', 'there is no such folder', {
    field: `${LOOP_FILE}: ${field}`,
    expected: 'a folder inside the project',
    got: folder,
    hint: 'Make it and put the programs there, or correct the path',
  })
}

function scripted(request: LoopFile['verify'][number]): ScriptedRequest {
  return 'inputs' in request ? request : { inputs: [request] }
}

function backendOf(name: string, declared: BackendDeclaration, cwd: string): Backend {
  const { env, readyMs, idleMs } = declared
  if (declared.kind === 'program')
    return jsonLinesBackend(name, {
      command: programOf(declared.command),
      cwd,
      env,
      readyMs,
      idleMs,
    })
  const { baseUrl, path, headers, command } = declared
  return openAiBackend(name, {
    baseUrl,
    headers,
    idleMs,
    ...(path !== undefined && { path }),
    ...(command && { server: { command: programOf(command), cwd, env, readyMs } }),
  })
}

/** `node` is this Node: the one the loop's own measurements were made with. */
function programOf(command: readonly string[]): [string, ...string[]] {
  const [program, ...args] = command
  return [program === 'node' ? process.execPath : program!, ...args]
}
