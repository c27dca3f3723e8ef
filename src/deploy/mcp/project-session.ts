/**
 * @module
 * The one project a server works on: its files, read anew for every call, and its loop, opened at the first call that needs
 * it and held until the server ends, or until its declaration is changed or its journal removed: then it is opened anew, and
 * says what is wrong with that.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ReadPipeline } from '../ir/read-pipeline.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { JOURNAL_FILE } from '../loop/ledger-writer.js'
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
  let declared = ''
  let declaredGraph: TaskGraph | undefined
  let journal = ''
  const close = (): void => {
    loop?.close()
    loop = undefined
  }
  return {
    root,
    pipeline: (path) => {
      const named =
        path ?? (existsSync(join(root, LOOP_FILE)) ? readLoopFile(root).pipeline : 'pipeline.yaml')
      return readProjectPipeline(root, named)
    },
    project: () => readLoopProject(root),
    loop: () => {
      const file = readLoopFile(root)
      // The same text gives the same graph.
      const { graph } = readProjectPipeline(root, file.pipeline)
      const now = JSON.stringify(file)
      const changed = declared !== now || declaredGraph !== graph
      if (loop !== undefined && (changed || !existsSync(journal))) close()
      if (loop === undefined) {
        const { project } = readLoopProject(root)
        loop = openLoop(project)
        declared = now
        declaredGraph = graph
        journal = join(project.folder, JOURNAL_FILE)
      }
      return loop
    },
    close,
  }
}
