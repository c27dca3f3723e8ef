/**
 * @module
 * A variant's own folder. Its digest is taken when equality is verified and again before and after it is timed: what is
 * accepted is what was verified, byte for byte.
 */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { HorizonError } from '../../core/errors.js'
import { containedPath } from './contained-path.js'

/** Where backends may write while they run; not part of what is verified. */
const SCRATCH = 'out'

/** Makes `folder/<id>` as a copy of `template`, or leaves it as it is if it is there. Never half a copy. */
export function makeWorkspace(folder: string, id: string, template: string | undefined): string {
  const workspace = containedPath(folder, id, 'variant')
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
    const content = readFileSync(join(workspace, path))
    hash.update(`${path.length}:${path}:${content.length}:`).update(content)
  }
  return hash.digest('hex')
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
