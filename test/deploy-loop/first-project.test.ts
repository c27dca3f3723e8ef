/**
 * The skill's first project, taken from its page as a reader would, and led through the loop with the server's tools alone.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connectMcp } from './support/mcp-client.js'
import { temporaryFolder } from './support/temporary-folder.js'

const PAGE = 'skills/deploy/references/first-project.md'

/** Files of the page by name: a line that begins with the name in backticks, then a block. */
function filesOf(page: string): Map<string, string> {
  const found = page.matchAll(/^`([^`]+)`[^\n]*\n\n```\w+\n([\s\S]*?)^```/gm)
  return new Map([...found].map(([, name, text]) => [name!, text!]))
}

describe("the skill's first project", () => {
  it('works as it stands, from the files to an accepted variant', async () => {
    const files = filesOf(readFileSync(PAGE, 'utf8'))
    expect([...files.keys()]).toEqual([
      'pipeline.yaml',
      'loop.yaml',
      'app/package.json',
      'app/stages.js',
      'app/lines.js',
      'app/reference.js',
      'app/nodes.js',
      'serve.js',
    ])
    const project = join(temporaryFolder(), 'first')
    for (const [name, text] of files) {
      if (name === 'serve.js') continue
      mkdirSync(dirname(join(project, name)), { recursive: true })
      writeFileSync(join(project, name), text)
    }
    const { call } = await connectMcp(project)
    expect((await call('validate')).body).toMatchObject({ ok: true, nodes: 3 })
    expect((await call('interpret')).body).toMatchObject({ equal: true, requests: 2 })
    const { findings } = (await call('analyse', { legal: true })).body as {
      findings: { id: string }[]
    }
    expect(findings.map((finding) => finding.id)).toContain('stream-edge:speak+draw')
    const variant = {
      id: 'streaming',
      title: 'draw each chunk as it is spoken',
      finding: 'stream-edge:speak+draw',
      target: 'latency',
      gpus: 1,
    }
    await call('propose', { variant })
    const { workspace } = (await call('record', { variant: 'streaming', step: 'implement' }))
      .body as { workspace: string }
    // Without a serve.js the failure says what is missing.
    const missing = (await call('record', { variant: 'streaming', step: 'verify' })).body
    expect(missing.state).toBe('failed-verification')
    expect(missing.why).toMatch(/serve\.js/)
    await call('record', { variant: 'streaming', step: 'implement' })
    writeFileSync(join(workspace, 'serve.js'), files.get('serve.js')!)
    expect((await call('record', { variant: 'streaming', step: 'verify' })).body.state).toBe(
      'measuring',
    )
    let state: unknown = 'measuring'
    while (state === 'measuring')
      state = (await call('record', { variant: 'streaming', step: 'measure', maxSeconds: 20 })).body
        .state
    expect(state).toBe('accepted')
    const { front } = (await call('status')).body as { front: { realTimeFactor: number }[] }
    expect(front).toMatchObject([{ variant: 'streaming', gpus: 1 }])
    expect(front[0]!.realTimeFactor).toBeGreaterThan(0)
    const { lines } = (await call('explain', { topic: 'streaming' })).body as { lines: string[] }
    expect(lines).toContainEqual(expect.stringMatching(/real-time factor/))
    expect(lines).toContainEqual(expect.stringMatching(/the pilot's noise: .* needs \d+ pairs/))
  }, 600_000)

  it('says the next step at every turn a newcomer takes too early', async () => {
    const project = join(temporaryFolder(), 'empty')
    mkdirSync(project)
    const { call } = await connectMcp(project)
    const told = async (name: string, args = {}): Promise<string> => {
      const answer = await call(name, args)
      expect(answer.isError).toBe(true)
      return answer.text
    }
    expect(await told('validate')).toMatch(/Write the IR first.*first-project\.md/)
    expect(await told('next')).toMatch(/no loop\.yaml.*Write it first.*first-project\.md/)
    const pipeline = filesOf(readFileSync(PAGE, 'utf8')).get('pipeline.yaml')!
    writeFileSync(join(project, 'pipeline.yaml'), pipeline)
    writeFileSync(join(project, 'loop.yaml'), 'name: x\npipeline: pipeline.yaml\n')
    expect(await told('next')).toMatch(/loop\.yaml: reference: .*first-project\.md/s)
    const declare = (rest: string): void =>
      writeFileSync(
        join(project, 'loop.yaml'),
        `name: x
pipeline: pipeline.yaml
reference: { folder: app, command: [node, r.js] }
candidate: { template: app, backend: { command: [node, s.js] } }
verify: [{ value: 1 }]
${rest}`,
      )
    declare('')
    expect(await told('next')).toMatch(/candidate\.template: there is no such folder.*Make it/)
    mkdirSync(join(project, 'app'))
    writeFileSync(join(project, 'app', 'r.js'), 'console.log("hello")')
    expect(await told('interpret')).toMatch(/names no node program.*interpreter\.md/)
    const variant = { id: 'v', title: 't', finding: 'stream-edge:speak+draw', gpus: 1 }
    await call('propose', { variant })
    expect(await told('record', { variant: 'v', step: 'implement' })).toMatch(
      /needs more requests per run.*lengthen 'measure'/,
    )
    // Changed while nothing was measured: the way out is named, and it works without a new server.
    declare('measure: [{ value: 1 }, { value: 2 }]')
    expect(await told('next')).toMatch(/Nothing was measured yet: remove .*deploy-loop/)
    rmSync(join(project, 'deploy-loop'), { recursive: true })
    expect((await call('next')).body.next).toMatchObject({ do: 'propose' })
    await call('propose', { variant })
    expect((await call('record', { variant: 'v', step: 'implement' })).body).toMatchObject({
      state: 'implementing',
    })
    expect(await told('record', { variant: 'v', step: 'measure' })).toMatch(/record step 'verify'/)
  })
})
