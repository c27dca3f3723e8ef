/**
 * @module
 * Order of a directed graph: a topological order that keeps the listing order where it can, or the cycle that forbids one.
 */

/** Indices in topological order, ties by index; or one cycle, as indices in the order of its edges. */
export function topologicalOrder(
  count: number,
  edges: readonly { readonly from: number; readonly to: number }[],
): { readonly order: readonly number[] } | { readonly cycle: readonly number[] } {
  const waiting = new Array<number>(count).fill(0)
  for (const edge of edges) waiting[edge.to]! += 1
  const order: number[] = []
  const done = new Array<boolean>(count).fill(false)
  for (;;) {
    const next = waiting.findIndex((value, index) => value === 0 && !done[index])
    if (next === -1) break
    done[next] = true
    order.push(next)
    for (const edge of edges) if (edge.from === next) waiting[edge.to]! -= 1
  }
  if (order.length === count) return { order }
  // Every node left has a predecessor that is left: walking back must close.
  const path: number[] = [done.indexOf(false)]
  for (;;) {
    const head = path[0]!
    const before = edges.find((edge) => edge.to === head && !done[edge.from])!.from
    const seen = path.indexOf(before)
    if (seen !== -1) return { cycle: path.slice(0, seen + 1) }
    path.unshift(before)
  }
}
