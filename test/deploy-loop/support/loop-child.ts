/**
 * A process that works through loops until it is killed. Says on standard output, synchronously, what it is about to settle
 * (`intent id`) and what it was told is settled (`state id`); starts a fresh loop folder when one is complete.
 */
import { existsSync, mkdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { inProcessBackend } from '../../../src/deploy/harness/backend.js'
import { openLoop } from '../../../src/deploy/loop/measured-loop.js'
import { finding, loopProject } from './loop-project.js'

const say = (text: string): void => void writeSync(1, `${text}\n`)

/** Sub-millisecond waits: many journal lines per second, so that kills meet them. */
const spinBackend = (name: string, ms: number) =>
  inProcessBackend(name, async function* () {
    const until = performance.now() + ms
    while (performance.now() < until);
    yield name.length > 0
  })

const root = process.argv[2]!
for (let index = 0; ; index++) {
  const folder = join(root, String(index))
  if (existsSync(join(root, String(index + 1)))) continue
  mkdirSync(folder, { recursive: true })
  const findings = ['a', 'b', 'c', 'd'].map((id, i) =>
    finding(id, { rule: i % 2 === 0 ? 'stream-edge' : 'disaggregate' }),
  )
  const project = await loopProject(folder, {
    findings,
    reference: spinBackend('reference', 0.4),
    candidate: (id) => spinBackend(id, id === 'd' ? 0.4 : 0.1),
  })
  const loop = openLoop(project)
  say(`open ${index}`)
  loop.seed()
  for (let next = loop.next(); next.do !== 'nothing' && next.do !== 'propose'; next = loop.next()) {
    const id = next.variant
    if (loop.ledger().variants.get(id)!.variant.spec.source === 'combination') {
      loop.withdraw(id, 'only single steps here')
      say(`withdrawn ${id}`)
    } else if (next.do === 'implement') loop.implement(id)
    else if (next.do === 'verify') await loop.verify(id)
    else {
      say(`intent ${id}`)
      const { state } = await loop.measure(id)
      say(`${state} ${id}`)
    }
  }
  loop.close()
}
