/**
 * The MCP server without its optional dependency: a process in which the SDK cannot be found, as after an installation of the
 * package alone.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'tsup'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from './support/temporary-folder.js'

const ROOT = new URL('../../', import.meta.url).pathname

describe('horizonserve mcp without the SDK', () => {
  it('says what to install, with the exit code for an environment that lacks something', async () => {
    const folder = temporaryFolder()
    const installed = join(folder, 'node_modules', 'horizonserve')
    await build({
      entry: { main: join(ROOT, 'src/cli/main.ts') },
      outDir: join(installed, 'dist/cli'),
      format: ['esm'],
      platform: 'node',
      config: false,
      silent: true,
      dts: false,
    })
    cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'))
    // What npm installs with the package: its dependencies, and not its optional peer.
    for (const name of ['commander', 'eventemitter3', 'yaml', 'zod'])
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    mkdirSync(join(folder, 'project'))
    writeFileSync(join(folder, 'project', 'pipeline.yaml'), '')
    const command = [join(installed, 'dist/cli/main.js'), 'mcp', '--project', 'project']
    const { status, stderr, stdout } = spawnSync(process.execPath, command, {
      cwd: folder,
      encoding: 'utf8',
      input: '',
    })
    expect(stdout).toBe('')
    expect(stderr).toMatch(/ERR_DEPLOY_MCP_UNAVAILABLE/)
    expect(stderr).toMatch(/npm install @modelcontextprotocol\/sdk/)
    expect(status).toBe(3)
  })
})
