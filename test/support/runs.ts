/** How many random runs a property gets: few every day, the full number in `npm run test:long`. */
export function runs(everyday: number, long: number): number {
  return process.env.HORIZON_LONG === undefined ? everyday : long
}
