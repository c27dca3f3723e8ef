import { expect, test } from 'vitest'
import { isHorizonError } from '../../src/core/errors.js'
import { loadKoffi, requireKoffi } from '../../src/native/koffi.js'
import { openLibrary, tryOpenLibrary } from '../../src/native/library.js'

function thrown(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('expected an error')
}

test('koffi loads once and calls a function of libc', () => {
  expect(loadKoffi()).toBe(loadKoffi())
  const { library } = tryOpenLibrary(['libc.so.6'])
  expect(library?.bind('int getpid()')()).toBe(process.pid)
})

test('where koffi is missing the error says how to get it and what works without', () => {
  const error = thrown(() =>
    requireKoffi(() => {
      throw new Error("Cannot find module 'koffi'\nRequire stack:")
    }),
  )
  expect(isHorizonError(error)).toBe(true)
  expect(error).toMatchObject({
    code: 'ERR_NATIVE_KOFFI_UNAVAILABLE',
    message: expect.stringContaining('npm install koffi@3'),
  })
  expect((error as Error).message).not.toContain('Require stack')
})

test.each([undefined, null, {}, { load() {}, view() {} }])(
  'a package that is not koffi 3 is refused: %j',
  (value) => {
    expect(thrown(() => requireKoffi(() => value))).toMatchObject({
      code: 'ERR_NATIVE_KOFFI_VERSION',
    })
  },
)

test('candidates are tried in order and every failure is named', () => {
  const { library, missing } = tryOpenLibrary([
    '/nowhere/libx.so',
    'libnot-there.so.9',
    'libc.so.6',
  ])
  expect(library?.path).toBe('libc.so.6')
  expect(missing.map((m) => m.path)).toEqual(['/nowhere/libx.so', 'libnot-there.so.9'])
  expect(missing[0]?.reason).toBe('no such file')
  expect(missing[1]?.reason).toContain('cannot open')
})

test('a library that is not there is an environment error', () => {
  const error = thrown(() => openLibrary(['/nowhere/libx.so'], 'Install x'))
  expect(isHorizonError(error)).toBe(true)
  expect(error).toMatchObject({
    code: 'ERR_NATIVE_LIBRARY_UNAVAILABLE',
    message: expect.stringMatching(/\/nowhere\/libx\.so \(no such file\).*Install x/),
  })
})

test('an empty path is no library', () => {
  expect(tryOpenLibrary(['']).missing).toEqual([{ path: '', reason: 'no path' }])
})

test('a file that is no library is named, not loaded', () => {
  const { library, missing } = tryOpenLibrary([import.meta.filename])
  expect(library).toBeUndefined()
  expect(missing[0]?.reason).toMatch(/ELF|header/)
})

test('a missing symbol is undefined to probe and an error to bind; a prototype that does not parse is always an error', () => {
  const { library } = tryOpenLibrary(['libc.so.6'])
  expect(library?.probe('int horizon_no_such_symbol()')).toBeUndefined()
  expect(thrown(() => library?.bind('int horizon_no_such_symbol()'))).toMatchObject({
    code: 'ERR_NATIVE_SYMBOL_MISSING',
  })
  expect(() => library?.probe('int getpid(')).toThrow()
})
