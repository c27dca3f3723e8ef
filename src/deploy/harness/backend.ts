/**
 * @module
 * What the harness drives: a backend as its user sees it, inputs in and outputs out. The harness knows nothing of stages,
 * devices or processes behind it.
 */

/** A started backend. Requests may overlap. */
export interface BackendSession {
  /**
   * Sends one request whose inputs arrive over time, and yields its outputs as they come. Ends with the request's last
   * output; throws when the backend fails.
   */
  request(inputs: AsyncIterable<unknown>): AsyncIterable<unknown>
  close(): Promise<void>
}

/** Something that can be started. `name` goes into reports. */
export interface Backend {
  readonly name: string
  open(): Promise<BackendSession>
}

/** A function as a backend: for tests, and for pipelines that are TypeScript anyway. */
export type InProcessBackend = (inputs: AsyncIterable<unknown>) => AsyncIterable<unknown>

/**
 * Wraps a function. `close` is called when the session ends.
 *
 * @example
 * const echo = inProcessBackend('echo', async function* (inputs) {
 *   for await (const input of inputs) yield input
 * })
 */
export function inProcessBackend(
  name: string,
  handle: InProcessBackend,
  close: () => Promise<void> = async () => {},
): Backend {
  return { name, open: async () => ({ request: handle, close }) }
}
