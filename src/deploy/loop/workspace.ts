/**
 * @module
 * A variant's own folder. Its digest is taken when equality is verified and again before and after it is timed: what is
 * accepted is what was verified, byte for byte.
 */
import { createHash, type Hash } from 'node:crypto'
import {
  closeSync,
  constants,
  cpSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { HorizonError } from '../../core/errors.js'
import { containedPath, isInside, outside } from './contained-path.js'

/** Where backends may write while they run; not part of what is verified. */
const SCRATCH = 'out'

/**
 * Makes `folder/<id>` as a copy of `template`, or leaves it as it is if it is there. Never half a copy, and nowhere but below
 * `root`, whatever links `folder` leads through.
 */
export function makeWorkspace(
  folder: string,
  id: string,
  template: string | undefined,
  root: string = folder,
): string {
  const workspace = containedPath(folder, id, 'variant')
  if (!isInside(realpathSync(root), workspace)) throw outside('variant', workspace)
  if (existsSync(workspace)) return workspace
  const aside = `${workspace}.new-${process.pid}`
  rmSync(aside, { recursive: true, force: true })
  if (template === undefined) mkdirSync(aside, { recursive: true })
  else {
    // A template with links could carry files of elsewhere into the digest, or out of the project.
    digestOf(template)
    cpSync(template, aside, { recursive: true, errorOnExist: true, force: false })
  }
  renameSync(aside, workspace)
  return workspace
}

/** SHA-256 over all files (path, length, content) in order of path. Links are refused. */
export function digestOf(workspace: string): string {
  const hash = createHash('sha256')
  for (const path of filesBelow(workspace, '')) {
    addFile(hash, join(workspace, path), path)
  }
  return hash.digest('hex')
}

/** By pieces: a workspace may hold a model. */
function addFile(hash: Hash, file: string, path: string): void {
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    hash.update(`${path.length}:${path}:${fstatSync(descriptor).size}:`)
    const piece = Buffer.allocUnsafe(2 ** 20)
    for (let read = 1; read > 0; ) {
      read = readSync(descriptor, piece)
      hash.update(piece.subarray(0, read))
    }
  } finally {
    closeSync(descriptor)
  }
}

function filesBelow(root: string, below: string): string[] {
  return readdirSync(join(root, below), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (path === SCRATCH) return []
      if (entry.isDirectory()) return filesBelow(root, path)
      if (entry.isFile()) return [path]
      const kind = lstatSync(join(root, path)).isSymbolicLink() ? 'a link' : 'a special file'
      throw new HorizonError('ERR_DEPLOY_LOOP_WORKSPACE', 'a workspace may hold plain files only', {
        field: path,
        expected: 'files and folders',
        got: kind,
        hint: `Copy the file in, or write it under '${SCRATCH}/', which is not part of what is verified`,
      })
    })
}
