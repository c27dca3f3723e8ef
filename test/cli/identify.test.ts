import { expect, test } from 'vitest'
import { cli } from '../support/cli.js'

test('a part of the grid is fitted and printed raw', async () => {
  const { code, out } = await cli('identify', '--part', '1/2', '--worlds', '2', '--minutes', '0.5')
  expect(code).toBe(0)
  const part = JSON.parse(out) as { worlds: { id: string; baselineRmse: number }[] }
  expect(part.worlds).toHaveLength(1)
  expect(part.worlds[0]).toMatchObject({ id: 'free/1+1/host-20/answers-1', mechanism: 'free' })
  expect(part.worlds[0]!.baselineRmse).toBeGreaterThan(0)
})

test('what cannot be identified is bad input', async () => {
  expect((await cli('identify', 'figure8')).code).toBe(2)
  expect((await cli('identify', '--part', '3/2')).code).toBe(2)
  expect((await cli('identify', '--worlds', '0')).code).toBe(2)
})
