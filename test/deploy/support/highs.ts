import * as module from 'highs'

export interface MilpResult {
  readonly Status: string
  readonly ObjectiveValue: number
  readonly Columns: Readonly<Record<string, { readonly Primal: number }>>
}

export interface Highs {
  solve(problem: string, options: Readonly<Record<string, unknown>>): MilpResult
}

/** The package's types describe CommonJS; at run time the default export is the loader. */
export async function loadHighs(): Promise<Highs> {
  const loader = (module as unknown as { default: () => Promise<Highs> }).default
  return await loader()
}
