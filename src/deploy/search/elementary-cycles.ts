/**
 * @module
 * Simple cycles over batches, listed once per search: then the cycle bound of a placement is a maximum over a list.
 */

export interface CycleShape {
  /** Edge indices of the cycle. */
  readonly edges: readonly number[]
  /** Batches it spans. */
  readonly lambda: number
}

/** All simple cycles, or undefined when there are more than `limit`. */
export function elementaryCycles(
  count: number,
  edges: readonly { readonly from: number; readonly to: number; readonly lambda: number }[],
  limit = 400,
): CycleShape[] | undefined {
  const out: number[][] = Array.from({ length: count }, () => [])
  edges.forEach((edge, index) => {
    out[edge.from]!.push(index)
  })
  const found: CycleShape[] = []
  const inside = new Array<boolean>(count).fill(false)
  let steps = 0
  const visit = (root: number, node: number, path: number[], lambda: number): boolean => {
    steps += 1
    if (found.length > limit || steps > 200_000) return false
    inside[node] = true
    let fine = true
    for (const index of out[node]!) {
      const edge = edges[index]!
      if (edge.to === root) found.push({ edges: [...path, index], lambda: lambda + edge.lambda })
      else if (edge.to > root && !inside[edge.to])
        fine = visit(root, edge.to, [...path, index], lambda + edge.lambda)
      if (!fine) break
    }
    inside[node] = false
    return fine
  }
  // A cycle crosses a batch, so it has an edge with lambda: without such edges there is nothing to look for.
  if (!edges.some((edge) => edge.lambda > 0)) return []
  for (let root = 0; root < count; root += 1) if (!visit(root, root, [], 0)) return undefined
  return found.length > limit ? undefined : found
}
