/**
 * @module
 * Implementations that are functions in this process.
 */
import { HorizonError } from '../../core/errors.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { Implementations, NodeFunction } from './implementation.js'

/**
 * Binds functions to the nodes of `graph`; a node without one is an error now, not in the middle of a run.
 *
 * @example
 * const nodes = nodeFunctions(graph, { double: ({ input }) => ({ output: 2 * Number(input) }) })
 */
export function nodeFunctions(
  graph: TaskGraph,
  functions: Readonly<Record<string, NodeFunction>>,
): Implementations {
  const bound = new Map<string, NodeFunction>()
  for (const { path, node } of graph.tasks) {
    const name = node.op ?? path
    if (!Object.hasOwn(functions, name)) {
      throw new HorizonError('ERR_DEPLOY_INTERPRETER_NO_FUNCTION', 'a node has no function', {
        field: path,
        expected: `a function named '${name}'`,
        got: Object.keys(functions).join(', ') || 'none',
        hint: "Add it, or give the node the right 'op'",
      })
    }
    bound.set(path, functions[name]!)
  }
  return {
    call: async (call) => await bound.get(call.path)!(call),
    close: async () => {},
  }
}
