/**
 * @module
 * What changed between two configurations, field by field.
 */

export interface ChangedField {
  readonly field: string
  /** JSON text; empty where the field was not, or is no longer, there. */
  readonly before: string
  readonly after: string
}

/** Fields by path, in the order in which they stand, removed ones last. */
export function diffConfiguration(before: unknown, after: unknown): ChangedField[] {
  const old = new Map(leaves('', before))
  const now = new Map(leaves('', after))
  const changed: ChangedField[] = []
  for (const [field, text] of now) {
    const was = old.get(field) ?? ''
    if (was !== text) changed.push({ field, before: was, after: text })
  }
  for (const [field, text] of old) {
    if (!now.has(field)) changed.push({ field, before: text, after: '' })
  }
  return changed
}

/** Lists are one field: a curve that moved is one change. */
function* leaves(path: string, value: unknown): Generator<[string, string]> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const [key, part] of Object.entries(value)) {
      yield* leaves(path === '' ? key : `${path}.${key}`, part)
    }
  } else if (value !== undefined) yield [path, JSON.stringify(value)]
}
