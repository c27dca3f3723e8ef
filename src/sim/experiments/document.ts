/**
 * @module
 * A results document: sections of text, tables and charts, from which the Markdown file and the HTML page are made. What is said is
 * said once.
 */

export type Block =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'table'
      readonly caption: string
      readonly head: readonly string[]
      readonly rows: readonly (readonly string[])[]
    }
  | Chart

export interface Chart {
  readonly kind: 'chart'
  readonly title: string
  readonly xTitle: string
  readonly yTitle: string
  readonly yMax?: number
  readonly series: readonly {
    readonly name: string
    readonly points: readonly (readonly [x: number, y: number | null])[]
  }[]
}

export interface Section {
  readonly id: string
  readonly title: string
  readonly blocks: readonly Block[]
}

export interface ResultsDocument {
  readonly title: string
  readonly intro: readonly string[]
  readonly sections: readonly Section[]
}

export const text = (of: string): Block => ({ kind: 'text', text: of })

export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Block {
  return { kind: 'table', caption, head, rows }
}

/** One decimal; a dash for what is not a number. */
export function number(value: number | null | undefined, digits = 1): string {
  return value === null || value === undefined || !Number.isFinite(value)
    ? '–'
    : value.toFixed(digits)
}

/** With its sign, for differences. */
export function signed(value: number, digits = 1): string {
  return Number.isFinite(value) ? `${value >= 0 ? '+' : ''}${value.toFixed(digits)}` : '–'
}
