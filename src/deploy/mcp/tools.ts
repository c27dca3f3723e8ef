/**
 * @module
 * The tools of the server, in the order an agent needs them.
 */
import { emitTool } from './emit-tool.js'
import { interpretTool, nextTool, proposeTool, recordTool } from './loop-tools.js'
import { explainTool, statusTool } from './report-tools.js'
import { analyseTool, planTool, validateTool } from './static-tools.js'
import type { Tool } from './tool.js'

export const TOOLS: readonly Tool[] = [
  validateTool,
  interpretTool,
  analyseTool,
  planTool,
  proposeTool,
  nextTool,
  recordTool,
  statusTool,
  explainTool,
  emitTool,
]
