/**
 * @module
 * The persistent states of one request while it is interpreted. Values are copied in and out, so that a node which changes
 * a value it only reads changes nothing: what is not declared does not happen, and the outputs show it.
 */
import { HorizonError } from '../../core/errors.js'
import type { Task, TaskGraph } from '../ir/task-graph.js'

export interface StateStore {
  /** Copies of what `task` reads. */
  read(task: Task): Record<string, unknown>
  /** Stores what `task` wrote; refuses undeclared names and missing ones. */
  write(task: Task, written: Readonly<Record<string, unknown>> | undefined): void
}

/** Fresh states for a request. `given` holds the values of states that are there beforehand, by qualified name. */
export function stateStore(graph: TaskGraph, given: Readonly<Record<string, unknown>>): StateStore {
  const values = new Map<string, unknown>()
  for (const [name, state] of graph.states) {
    if (state.initial === 'given' && !Object.hasOwn(given, name)) {
      throw new HorizonError('ERR_DEPLOY_INTERPRETER_NO_STATE', 'a given state has no value', {
        field: name,
        expected: 'a value to start each request from',
        got: Object.keys(given).join(', ') || 'none',
        hint: `Pass it in 'given', or declare the state 'initial: empty'`,
      })
    }
    // An empty state may have a value of its own to start from: an empty cache, a zero.
    if (state.initial !== 'none' && Object.hasOwn(given, name))
      values.set(name, structuredClone(given[name]))
  }
  return {
    read: (task) =>
      Object.fromEntries(task.reads.map((name) => [name, structuredClone(values.get(name))])),
    write: (task, written = {}) => {
      for (const name of Object.keys(written)) {
        if (!task.writes.includes(name))
          throw contract(task, `state '${name}' was written but is not declared`, task.writes, name)
      }
      for (const name of task.writes) {
        // Own values alone: everything inherits a `constructor`, which is a fine name for a state.
        if (!Object.hasOwn(written, name) || written[name] === undefined)
          throw contract(
            task,
            `declared state '${name}' was not written`,
            task.writes,
            Object.keys(written).join(', '),
          )
        values.set(name, structuredClone(written[name]))
      }
    },
  }
}

function contract(
  task: Task,
  text: string,
  declared: readonly string[],
  got: string,
): HorizonError {
  return new HorizonError('ERR_DEPLOY_INTERPRETER_STATE', text, {
    field: task.path,
    expected: `exactly the declared writes (${declared.join(', ') || 'none'})`,
    got: got || 'none',
    hint: "Correct the node's 'writes', or what it returns",
  })
}
