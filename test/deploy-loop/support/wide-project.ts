import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Nodes of one nested graph. */
const GROUP = 10

/**
 * A project whose pipeline is a chain of `numNodes` nodes in groups of ten, each group with a state of its own, with
 * names and reasons as long as real ones.
 */
export function wideProject(folder: string, numNodes: number): string {
  mkdirSync(join(folder, 'app'), { recursive: true })
  const lines = ['name: wide', 'nodes:', '  n0: { timesMs: 1 }']
  const groups = Math.ceil((numNodes - 1) / GROUP)
  for (let g = 0; g < groups; g++) {
    const names = Array.from(
      { length: Math.min(GROUP, numNodes - 1 - g * GROUP) },
      (_, i) => `stage_with_a_long_name_${g}_${i}`,
    )
    lines.push(`  group_${g}:`, '    kind: graph', '    states:')
    lines.push(`      cache_of_${names[0]}: { initial: empty }`)
    lines.push('    nodes:')
    for (const [i, name] of names.entries()) {
      const state = i === 0 ? `reads: [cache_of_${name}], writes: [cache_of_${name}], ` : ''
      lines.push(`      ${name}: { ${state}timesMs: ${1 + (g % 7)} }`)
    }
    lines.push('    edges:')
    for (const [i, name] of names.entries())
      if (i > 0)
        lines.push(
          `      - { from: ${names[i - 1]}, to: ${name}, mode: streaming, transferMs: 0.1 }`,
        )
  }
  lines.push('edges:', '  - { from: n0, to: group_0, mode: blocking, transferMs: 0.1 }')
  for (let g = 1; g < groups; g++)
    lines.push(
      `  - { from: group_${g - 1}, to: group_${g}, mode: ${g % 5 === 0 ? 'blocking' : 'streaming'}, transferMs: 0.1 }`,
    )
  lines.push('entries: [n0]', `outputs: [{ node: group_${groups - 1} }]`)
  writeFileSync(join(folder, 'pipeline.yaml'), `${lines.join('\n')}\n`)
  const program = `
    import { createInterface } from 'node:readline'
    console.log(JSON.stringify({ ready: true }))
    for await (const line of createInterface({ input: process.stdin })) {
      const { id, end, call } = JSON.parse(line)
      if (call) console.log(JSON.stringify({ id, result: { output: call.batch, state: Object.fromEntries(Object.keys(call.state).map((key) => [key, 1])) } }))
      else if (end) console.log(JSON.stringify({ id, output: 0 }) + '\\n' + JSON.stringify({ id, done: true }))
    }
  `
  writeFileSync(join(folder, 'app', 'main.mjs'), program)
  const command = 'command: [node, main.mjs]'
  writeFileSync(
    join(folder, 'loop.yaml'),
    [
      'name: wide',
      'pipeline: pipeline.yaml',
      `reference: { folder: app, ${command} }`,
      `candidate: { template: app, backend: { ${command} } }`,
      `nodes: { folder: app, ${command} }`,
      'verify: [{ value: 1 }]',
      '',
    ].join('\n'),
  )
  return folder
}
