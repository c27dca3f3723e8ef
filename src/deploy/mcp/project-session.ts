/**
 * @module
 * The one project a server works on: its files, read anew for every call, and its loop, opened at the first call that needs
 * it and held until the server ends.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ReadPipeline } from '../ir/read-pipeline.js'
import { type MeasuredLoop, openLoop } from '../loop/measured-loop.js'
import {
  LOOP_FILE,
  type ReadLoopProject,
  readLoopFile,
  readLoopProject,
  readProjectPipeline,
} from '../loop/read-loop-project.js'

export interface ProjectSession {
  readonly root: string
  /** The pipeline named, or the one of `loop.yaml`, or `pipeline.yaml` while there is no `loop.yaml` yet. */
  pipeline(path: string | undefined): ReadPipeline
  project(): ReadLoopProject
  loop(): MeasuredLoop
  close(): void
}

export function projectSession(root: string): ProjectSession {
  let loop: MeasuredLoop | undefined
  return {
    root,
    pipeline: (path) => {
      const named =
        path ?? (existsSync(join(root, LOOP_FILE)) ? readLoopFile(root).pipeline : 'pipeline.yaml')
      return readProjectPipeline(root, named)
    },
    project: () => readLoopProject(root),
    loop: () => {
      loop ??= openLoop(readLoopProject(root).project)
      return loop
    },
    close: () => {
      loop?.close()
      loop = undefined
    },
  }
}
