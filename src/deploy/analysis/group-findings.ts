/**
 * @module
 * Findings that say the same of many pairs, put together: a pipeline of hundreds of nodes has hundreds of thousands of
 * pairs, and nobody reads them one by one. What few say stays as it is.
 */
import type { Finding } from './analyze.js'

export interface FindingGroup {
  readonly first: Finding
  /** All of them, `first` included. */
  readonly count: number
  /** Names that occur in them, in their order. */
  readonly nodes: readonly string[]
  /** Whether it holds of any two of `nodes`. */
  readonly everyPair: boolean
}

/** From this many on, findings of one kind become one group. */
const MANY = 12

/** In the order of the first of each group. */
export function groupFindings(findings: readonly Finding[]): FindingGroup[] {
  const kinds = new Map<string, Finding[]>()
  for (const finding of findings) {
    const key = kindOf(finding)
    const list = kinds.get(key)
    if (list === undefined) kinds.set(key, [finding])
    else list.push(finding)
  }
  const groups: FindingGroup[] = []
  const done = new Set<string>()
  for (const finding of findings) {
    const key = kindOf(finding)
    const list = kinds.get(key)!
    if (list.length < MANY) {
      groups.push({ first: finding, count: 1, nodes: finding.nodes, everyPair: false })
      continue
    }
    if (done.has(key)) continue
    done.add(key)
    const nodes = [...new Set(list.flatMap((one) => one.nodes))]
    const pairs = list.every((one) => one.nodes.length === 2)
    const everyPair = pairs && list.length === (nodes.length * (nodes.length - 1)) / 2
    groups.push({ first: finding, count: list.length, nodes, everyPair })
  }
  return groups
}

/** What two findings have in common when only the names of their nodes differ. */
function kindOf({ rule, legal, why, nodes, relieves }: Finding): string {
  let text = why
  // Longer names first, so that `n10` is not taken for `n1` and a 0.
  for (const [index, name] of [...nodes.entries()].sort((a, b) => b[1].length - a[1].length))
    text = text.replaceAll(name, `\u0000${index}`)
  return `${rule}|${legal}|${relieves?.target}|${text}`
}
