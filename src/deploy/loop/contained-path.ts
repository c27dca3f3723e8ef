/**
 * @module
 * Paths inside the project, and no others. A path from outside (an argument, a file) is resolved with every link followed
 * before it is used, so that neither `..` nor an absolute path nor a link leads out.
 */
import { lstatSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { HorizonError } from '../../core/errors.js'

/** The absolute path of `path` inside `root`; the last parts may not exist yet. Throws when it leads out. */
export function containedPath(root: string, path: string, field: string): string {
  if (path.includes('\0')) throw outside(field, path)
  const base = realpathSync(root)
  const wanted = resolve(base, path)
  if (!isInside(base, wanted)) throw outside(field, path)
  let real: string
  try {
    real = realOfExisting(wanted)
  } catch {
    // A link to nothing or to itself, a file where a folder should be: nothing to be reached safely.
    throw outside(field, path)
  }
  if (!isInside(base, real)) throw outside(field, path)
  return wanted
}

/** True when `path` is `base` or below it. Both absolute. */
export function isInside(base: string, path: string): boolean {
  const way = relative(base, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** Links of the part that exists resolved; what does not exist yet can hold no link. */
function realOfExisting(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A link to nothing is something: writing through it would create its target, wherever that is.
    const dangling = lstatSync(path, { throwIfNoEntry: false }) !== undefined
    if (code === 'ENOENT' && !dangling && dirname(path) !== path) {
      return join(realOfExisting(dirname(path)), path.slice(dirname(path).length))
    }
    throw error
  }
}

/** The refusal of a path. */
export function outside(field: string, path: string): HorizonError {
  return new HorizonError('ERR_DEPLOY_LOOP_PATH', 'the path leads out of the project', {
    field,
    expected: 'a path inside the project folder, links included',
    got: path,
  })
}
