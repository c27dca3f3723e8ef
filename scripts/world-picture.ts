/**
 * Draws docs/worlds.svg from the table of docs/results.md ("What a policy costs whom"): attainment and short-path p95 at four points, in a
 * world of each kind. Run: node --import tsx scripts/world-picture.ts
 */
import { readFileSync, writeFileSync } from 'node:fs'

const POLICIES = [
  ['vanilla', '#9aa0a6', 'vanilla'],
  ['edf-mps', '#5f6368', 'EDF-MPS'],
  ['literal/in-flight-1/limited/step', '#e8a33d', 'the paper’s mechanism'],
  ['horizonserve-slots', '#8ab4f8', 'ours, slots alone'],
  ['horizonserve-places', '#1a66d6', 'ours, places of both stages'],
] as const
const WIDTH = 860
const PANEL = 360

const rows = readFileSync('docs/results.md', 'utf8')
  .split('### What a policy costs whom')[1]!
  .split('###')[0]!
  .split('\n')
  .filter((line) => line.startsWith('| places'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, world, point, policy, met, short]) => ({
    world: world!,
    point: point!,
    policy: policy!,
    met: Number(met),
    p95: Number(short!.split(' / ')[0]),
  }))
const worlds = [...new Set(rows.map((row) => row.world))]

function panel(x: number, y: number, world: string, of: 'met' | 'p95'): string {
  const points = [...new Set(rows.map((row) => row.point))]
  const height = 150
  // Seconds on a logarithmic scale from 0.5 to 3,000.
  const share = (value: number): number =>
    of === 'met' ? value / 100 : Math.log(Math.max(value, 0.5) / 0.5) / Math.log(6000)
  const bars = points.flatMap((point, p) =>
    POLICIES.map(([name, colour], k) => {
      const row = rows.find(
        (one) => one.world === world && one.point === point && one.policy === name,
      )!
      const h = Math.max(1, share(row[of]) * height)
      const left = x + p * 88 + k * 15
      const label = `<text x="${left + 6.5}" y="${y + height - h - 3}" font-size="8" text-anchor="middle">${row[of]}</text>`
      return `<rect x="${left}" y="${y + height - h}" width="13" height="${h}" fill="${colour}"><title>${name}: ${row[of]}</title></rect>${label}`
    }),
  )
  const names = points.map(
    (point, p) =>
      `<text x="${x + p * 88 + 36}" y="${y + height + 13}" font-size="9" text-anchor="middle">${point.replace('2.5-omni', '')} %</text>`,
  )
  return [
    `<line x1="${x - 4}" x2="${x + PANEL}" y1="${y + height}" y2="${y + height}" stroke="#444"/>`,
    ...bars,
    ...names,
  ].join('\n')
}

const parts = worlds.map((world, w) => {
  const x = 40 + w * (PANEL + 60)
  return [
    `<text x="${x}" y="48" font-size="13" font-weight="bold">${world}</text>`,
    `<text x="${x}" y="66" font-size="10">met, % of all that arrived (higher is better)</text>`,
    panel(x, 76, world, 'met'),
    `<text x="${x}" y="272" font-size="10">short path, first response p95, s, logarithmic (lower is better)</text>`,
    panel(x, 282, world, 'p95'),
  ].join('\n')
})
const legend = POLICIES.map(
  ([, colour, text], k) =>
    `<rect x="${40 + k * 160}" y="464" width="11" height="11" fill="${colour}"/><text x="${56 + k * 160}" y="474" font-size="11">${text}</text>`,
)
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 490" width="${WIDTH}" height="490" font-family="sans-serif" role="img">
<title>Attainment and short-path p95 under five policies, in a simulated world of each kind</title>
<rect width="${WIDTH}" height="490" fill="white"/>
<text x="40" y="24" font-size="14" font-weight="bold">Simulated, one seed: the same load, in a world of each kind</text>
${parts.join('\n')}
${legend.join('\n')}
</svg>
`
writeFileSync('docs/worlds.svg', svg)
