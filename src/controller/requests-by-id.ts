/**
 * @module
 * Requests by the hash of their external id. A client may use one id for several requests in flight, so under each hash stands a list, in
 * the order of arrival; what a later stage tells belongs to the first that fits.
 */

/** A request as the mirror keeps it. */
export interface Mirrored {
  /** In the core; another one where the request waits anew. */
  handle: number
  /** Engine slot in the shared stage, 0 once it has left. */
  slot: number
  readonly classIndex: number
  readonly isLong: boolean
  readonly arrivalMs: number
  readonly idLow: bigint
  responded: boolean
  /** It left the shared stage for later ones. */
  isDownstream: boolean
  /** The later stage that named it last. */
  stage?: number
  /** When it was last heard of after the shared stage, ms. */
  heardMs: number
}

export interface RequestsById {
  add(request: Mirrored): void
  remove(request: Mirrored): void
  /** The first that can have ended (`ends`: it was answered, where one was), or be answered (`responds`: not yet), or simply the first. */
  find(idLow: bigint, ends: boolean, responds: boolean): Mirrored | undefined
}

export function createRequestsById(): RequestsById {
  const lists = new Map<bigint, Mirrored[]>()
  return {
    add(request) {
      const list = lists.get(request.idLow)
      if (list === undefined) lists.set(request.idLow, [request])
      else list.push(request)
    },
    remove(request) {
      const list = lists.get(request.idLow)
      if (list === undefined) return
      if (list.length === 1) lists.delete(request.idLow)
      else list.splice(list.indexOf(request), 1)
    },
    find(idLow, ends, responds) {
      const list = lists.get(idLow)
      if (list === undefined) return undefined
      if (list.length === 1) return list[0]
      if (ends) return list.find((r) => r.responded) ?? list.find((r) => r.isDownstream) ?? list[0]
      if (responds) {
        const open = list.filter((r) => !r.responded)
        return open.find((r) => r.isDownstream) ?? open[0] ?? list[0]
      }
      return list.find((r) => r.isDownstream) ?? list[0]
    },
  }
}
