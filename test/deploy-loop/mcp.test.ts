import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connectMcp } from './support/mcp-client.js'
import { temporaryFolder } from './support/temporary-folder.js'
import { wideProject } from './support/wide-project.js'

const EXAMPLE = new URL('../../examples/face-to-face/', import.meta.url).pathname

function exampleProject(): string {
  const project = join(temporaryFolder(), 'project')
  mkdirSync(project)
  for (const name of ['app', 'pipeline.yaml', 'loop.yaml'])
    cpSync(join(EXAMPLE, name), join(project, name), { recursive: true })
  // Shorter runs and fewer pairs than the example's own: what is tested is the way, not the figure.
  const file = join(project, 'loop.yaml')
  const quick = readFileSync(file, 'utf8')
    .replace('chunks: 12', 'chunks: 8')
    .replaceAll('pilotPairs: 6\n    maxPairs: 20', 'pilotPairs: 5\n    maxPairs: 40')
  writeFileSync(file, quick)
  return project
}

describe('the MCP server, driven by the official client over stdio', () => {
  it('leads through the whole loop on the example', async () => {
    const project = exampleProject()
    const { tools, call } = await connectMcp(project)
    expect(tools.map((tool) => tool.name)).toEqual([
      'validate',
      'interpret',
      'analyse',
      'plan',
      'propose',
      'next',
      'record',
      'status',
      'explain',
      'emit',
    ])
    for (const tool of tools) {
      expect(tool.outputSchema?.type).toBe('object')
      expect(tool.annotations).toMatchObject({ destructiveHint: false, openWorldHint: false })
    }

    expect((await call('validate')).body).toMatchObject({ ok: true, nodes: 8, crossBatchEdges: 6 })
    expect((await call('interpret', { requests: 2 })).body).toMatchObject({
      equal: true,
      chunks: 24,
    })
    const analysis = (await call('analyse', { legal: true, rule: 'disaggregate' })).body
    expect(analysis.findings).toContainEqual({
      id: 'disaggregate:tts+s2v',
      legal: true,
      relieves: 'period',
      upToMs: 30,
    })
    const { plans } = (await call('plan', { gpus: 8, objective: 'rate' })).body as {
      plans: { ratePerSec: number }[]
    }
    expect(plans[0]!.ratePerSec).toBeCloseTo(1000 / 30, 1)

    // Streaming on one device, justified by the edge that allows it.
    const proposed = await call('propose', {
      variant: {
        id: 'streaming',
        title: 'stream speech into video',
        finding: 'stream-edge:tts+s2v/dit1',
        target: 'latency',
        gpus: 1,
        expectedGain: 0.7,
      },
    })
    expect(proposed.body.next).toMatchObject({ do: 'implement', variant: 'streaming' })
    const { workspace } = (await call('record', { variant: 'streaming', step: 'implement' }))
      .body as { workspace: string }
    expect(workspace.startsWith(project)).toBe(true)

    // First try: chunks are sent in the wrong order. It is caught before anything is timed.
    const serve = readFileSync(join(workspace, 'serve.js'), 'utf8')
    writeFileSync(
      join(workspace, 'deployment.json'),
      JSON.stringify({ mode: 'streaming', devices: {} }),
    )
    writeFileSync(
      join(workspace, 'serve.js'),
      serve.replace('denoise(step, x, cache)', 'denoise(5 - step, x, cache)'),
    )
    const failed = (await call('record', { variant: 'streaming', step: 'verify' })).body
    expect(failed).toMatchObject({ state: 'failed-verification', next: { do: 'implement' } })
    expect(failed.why).toMatch(/^\[0\]\[0\]\[0\]: expected/)
    const early = await call('record', { variant: 'streaming', step: 'measure' })
    expect(early.isError).toBe(true)
    expect(early.text).toMatch(/Record step 'implement' to repair it/)

    await call('record', { variant: 'streaming', step: 'implement' })
    writeFileSync(join(workspace, 'serve.js'), serve)
    expect((await call('record', { variant: 'streaming', step: 'verify' })).body).toMatchObject({
      state: 'measuring',
    })
    // In slices, as a client with a short patience would; nothing interim is told.
    let step = (await call('record', { variant: 'streaming', step: 'measure', maxSeconds: 0.5 }))
      .body
    for (
      ;
      step.state === 'measuring';
      step = (await call('record', { variant: 'streaming', step: 'measure', maxSeconds: 20 })).body
    )
      expect((await call('status')).body.variants).toEqual([
        { id: 'streaming', state: 'measuring', target: 'latency', gpus: 1 },
      ])
    expect(step).toMatchObject({ state: 'accepted', stage: 'confirm' })

    // A variant on top of it, justified by another finding; this one is withdrawn with a reason.
    await call('propose', {
      variant: {
        id: 'split',
        title: 'speech on a device of its own',
        finding: 'disaggregate:tts+s2v',
        gpus: 2,
        against: 'streaming',
      },
    })
    expect((await call('record', { variant: 'split', step: 'withdraw' })).text).toMatch(
      /a withdrawal needs a reason/,
    )
    const last = (
      await call('record', {
        variant: 'split',
        step: 'withdraw',
        reason: 'this machine has one device today',
      })
    ).body
    expect(last.next).toMatchObject({ do: 'nothing' })
    const status = (await call('status')).body
    expect(status).toMatchObject({
      states: { accepted: 1, withdrawn: 1 },
      front: [{ variant: 'streaming' }],
    })
    expect(status.stopped).toMatch(/^complete/)
    expect((await call('explain', { topic: 'streaming' })).body.lines).toContainEqual(
      expect.stringMatching(/^confirm: .*accept/),
    )

    const emitted = (
      await call('emit', { gpus: 8, format: 'mermaid', objective: 'rate', folder: 'deploy-out' })
    ).body
    expect(emitted.files).toMatchObject([
      { name: 'pipeline.mmd', written: 'deploy-out/pipeline.mmd' },
    ])
    expect(readFileSync(join(project, 'deploy-out/pipeline.mmd'), 'utf8')).toBe(
      (emitted.lines as string[]).join('\n'),
    )
  })

  it('keeps every answer within its bytes on 200 nodes, and pages lead to the end', async () => {
    const project = wideProject(join(temporaryFolder(), 'wide'), 200)
    const { call } = await connectMcp(project)
    expect((await call('validate')).body).toMatchObject({ ok: true, nodes: 200 })
    for (const detail of ['summary', 'full']) {
      const seen: string[] = []
      let pages = 0
      for (let cursor: string | undefined = '0'; cursor !== undefined; pages++) {
        const { body } = await call('analyse', { detail, cursor })
        seen.push(...(body.findings as { id: string }[]).map((finding) => finding.id))
        expect(seen.length).toBeLessThanOrEqual(body.total as number)
        cursor = body.nextCursor as string | undefined
        if (pages === 0) expect(cursor).toBeDefined()
        // Every page of the short form, the first ones of the long form.
        if (cursor === undefined) expect(seen.length).toBe(body.total)
        if (detail === 'full' && pages === 3) break
      }
      expect(new Set(seen).size).toBe(seen.length)
    }
    await call('plan', { gpus: 1, objective: 'latency', effort: 100 })
    await call('propose', { seed: { limit: 100 } })
    await call('propose', { seed: { limit: 100 } })
    await call('next')
    const status = (await call('status')).body
    expect(status.nextCursor).toBeDefined()
    await call('status', { cursor: status.nextCursor })
    await call('explain', { topic: 'n0' })
    await call('explain', { topic: 'gate' })
    await call('emit', { gpus: 1, format: 'mermaid', effort: 100 })
    await call('interpret')
    // A file with a hundred mistakes, and one that is no YAML.
    writeFileSync(
      join(project, 'bad.yaml'),
      `name: x\nnodes:\n${Array.from({ length: 200 }, (_, i) => `  n${i}: { timesMs: -${i} }`).join('\n')}\nentries: [a]\noutputs: [{ node: b }]\n`,
    )
    const bad = (await call('validate', { pipeline: 'bad.yaml' })).body
    expect(bad.ok).toBe(false)
    expect(bad.nextCursor).toBeDefined()
    writeFileSync(join(project, 'worse.yaml'), `${'['.repeat(5000)}`)
    expect((await call('validate', { pipeline: 'worse.yaml' })).body.ok).toBe(false)
  })

  it('answers malformed and hostile arguments with a protocol error, and goes on', async () => {
    const project = exampleProject()
    const outside = join(dirname(project), 'secret.yaml')
    writeFileSync(outside, 'name: secret')
    symlinkSync(outside, join(project, 'link.yaml'))
    symlinkSync(dirname(project), join(project, 'up'))
    symlinkSync(join(dirname(project), 'not-there-yet'), join(project, 'dangling'))
    const before = listing(dirname(project))
    const { client, call } = await connectMcp(project)
    const hostile: [string, unknown][] = [
      ['no-such-tool', {}],
      ['validate', { pipeline: '../secret.yaml' }],
      ['validate', { pipeline: '/etc/passwd' }],
      ['validate', { pipeline: 'link.yaml' }],
      ['validate', { pipeline: 'up/secret.yaml' }],
      ['validate', { pipeline: 'a\0b' }],
      ['validate', { pipeline: 7 }],
      ['validate', { pipeline: 'x'.repeat(100_000) }],
      ['validate', { unknown: true }],
      ['validate', JSON.parse('{"__proto__": {"ok": true}, "constructor": 1}')],
      ['analyse', { cursor: '-1' }],
      ['analyse', { cursor: '1e9' }],
      ['plan', {}],
      ['plan', { gpus: 0 }],
      ['plan', { gpus: 1e9 }],
      ['plan', { gpus: '8' }],
      ['plan', { gpus: 4, effort: 1e12 }],
      ['emit', { gpus: 1, format: 'mermaid', folder: '..' }],
      ['emit', { gpus: 1, format: 'mermaid', folder: '/tmp/elsewhere' }],
      ['emit', { gpus: 1, format: 'mermaid', folder: 'up/out' }],
      ['emit', { gpus: 1, format: 'mermaid', folder: 'dangling' }],
      ['emit', { gpus: 1, format: 'mermaid', folder: 'app/../../out' }],
      ['emit', { gpus: 1, format: 'rm -rf' }],
      ['propose', { variant: { id: '../../x', title: 't', finding: 'f', gpus: 1 } }],
      ['propose', { variant: { id: 'reference', title: 't', finding: 'f', gpus: 1 } }],
      ['propose', { variant: { id: 'x', title: '', finding: 'f', gpus: 1 } }],
      ['propose', { variant: { id: 'x', title: 't', finding: 'f', gpus: 1.5 } }],
      ['record', { variant: '..', step: 'implement' }],
      ['record', { variant: 'x', step: 'accept' }],
      ['record', { variant: 'x', step: 'measure', latencyMs: 1 }],
      ['record', { variant: 'x', step: 'measure', maxSeconds: Number.MAX_VALUE }],
      ['record', { variant: 'x', step: 'measure', maxSeconds: -1 }],
      ['plan', { gpus: 1e308 }],
      ['plan', { gpus: 1, minRatePerSec: Number.NaN }],
      ['plan', { gpus: 1, hardware: 'x'.repeat(1_000_000) }],
      ['status', { gpus: -1 }],
      ['next', { cursor: '9'.repeat(1_000_000) }],
      ['propose', { seed: { limit: 1e9 } }],
      ['propose', { seed: { rules: Array.from({ length: 1000 }, () => 'stream-edge') } }],
      ['emit', { gpus: 1, format: 'mermaid', folder: 'app/serve.js' }],
      ['explain', { topic: 'x'.repeat(1_000_000) }],
      ['explain', { topic: '' }],
      ['explain', []],
      ['explain', 'gate'],
      ['explain', null],
    ]
    for (const [name, args] of hostile) {
      const answer = client.callTool({ name, arguments: args as Record<string, unknown> })
      await expect(answer, `${name} ${JSON.stringify(args).slice(0, 80)}`).rejects.toThrow(
        /MCP error -32/,
      )
    }
    // Well-formed but wrong: an answer that says what to do.
    for (const [name, args] of [
      ['propose', {}],
      ['propose', { variant: { id: 'x', title: 't', finding: 'disaggregate:kv', gpus: 1 } }],
      ['record', { variant: 'toString', step: 'implement' }],
      ['record', { variant: 'never-proposed', step: 'implement' }],
      ['explain', { topic: '__proto__' }],
      ['explain', { topic: 'constructor' }],
      // The schema drops the key, and nothing inherits from it.
      ['record', JSON.parse('{"variant": "x", "step": "implement", "__proto__": {"a": 1}}')],
      ['validate', { pipeline: '\ud800' }],
      ['validate', { pipeline: 'app' }],
      ['emit', { gpus: 1, format: 'mermaid', file: '__proto__' }],
      ['validate', { pipeline: 'missing.yaml' }],
    ] as const) {
      if (name === 'record' && args.variant === 'toString') continue
      expect((await call(name, args)).isError).toBe(true)
    }
    // A page past the end is an empty last one.
    const past = (await call('analyse', { cursor: '999999999' })).body
    expect(past.findings).toEqual([])
    expect(past.nextCursor).toBeUndefined()
    expect((await call('validate')).body).toMatchObject({ ok: true })
    expect(listing(dirname(project))).toEqual(before)
    expect(existsSync(join(dirname(project), 'out'))).toBe(false)
  })
})

/** Every path outside the project's own folder. */
function listing(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name !== 'project')
    .map((name) => `${name} ${statSync(join(folder, name)).size}`)
}
