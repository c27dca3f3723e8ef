/**
 * @module
 * The TypeScript of docs/gpu.md runs as it stands, against the doubles.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { cudaDouble, nvmlDouble } from '../abi/double/build.js'
import { describeDouble } from '../abi/double/describe.js'
import { openCudaDouble } from './open-double.js'

describeDouble('docs/gpu.md', () => {
  test('its program runs and closes what it opened', async () => {
    const block = /```ts\n([\s\S]*?)```/.exec(readFileSync('docs/gpu.md', 'utf8'))?.[1] ?? ''
    const folder = join(import.meta.dirname, '../../out')
    const file = join(folder, `guide-${process.pid}.ts`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      file,
      block
        .replace("from 'horizonserve/gpu'", "from '../src/gpu/index.js'")
        .replace("from 'horizonserve'", "from '../src/index.js'"),
    )
    const { live } = openCudaDouble('sms=142;cc=89')
    process.env.HORIZON_LIBCUDA = cudaDouble()
    process.env.HORIZON_LIBNVML = nvmlDouble()
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    try {
      await import(/* @vite-ignore */ file)
      expect(log).toHaveBeenCalledWith(142, true)
      expect(live().greenContexts).toBe(0)
    } finally {
      log.mockRestore()
      delete process.env.HORIZON_LIBCUDA
      delete process.env.HORIZON_LIBNVML
      rmSync(file)
    }
  })
})
