/**
 * @module
 * What the interpreter asks of an implementation: compute one node, once, from what its annotations allow it to see.
 */

/** One execution of one node. */
export interface NodeCall {
  /** `s2v/dit1`. */
  readonly path: string
  /** Batch number from 0; for `request` nodes 0, for `event` nodes the batch the event came before. */
  readonly batch: number
  /** What the user sent, for entry nodes; undefined elsewhere. */
  readonly input: unknown
  /** Outputs of the nodes that have an edge to this one, by path. */
  readonly inputs: Readonly<Record<string, unknown>>
  /** Copies of the states this node reads, by qualified name (`s2v/kv1`); an absent one is undefined. */
  readonly state: Readonly<Record<string, unknown>>
}

/** What it gives back. */
export interface NodeResult {
  readonly output: unknown
  /** New values of the states it writes. Every declared one must be there, and no other. */
  readonly state?: Readonly<Record<string, unknown>>
  /** Set by a node that knows that this batch is the last one of the request. */
  readonly last?: boolean
}

/** Computes any node of a pipeline. `close` ends what it holds (a child program). */
export interface Implementations {
  call(call: NodeCall): Promise<NodeResult>
  close(): Promise<void>
}

/** A function per node: by its `op` if it has one, else by its path. */
export type NodeFunction = (call: NodeCall) => NodeResult | Promise<NodeResult>
