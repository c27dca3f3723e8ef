import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  createClassifier,
  type ModalityClass,
  type RequestMarks,
} from '../../src/adapters/classify.js'
import { isHorizonError } from '../../src/core/index.js'

interface Group {
  readonly name: string
  readonly classes: readonly (ModalityClass & { readonly name: string })[]
  readonly requests: readonly (RequestMarks & { readonly why: string; readonly class: string })[]
}

const golden = JSON.parse(readFileSync('test/golden/mixed-requests.json', 'utf8')) as {
  readonly sets: readonly Group[]
}
const hasPython = spawnSync('python3', ['--version']).status === 0

describe('requests of several modalities', () => {
  for (const { name, classes, requests } of golden.sets) {
    const classify = createClassifier(classes)
    it.each(requests)(`${name}: $why`, (request) => {
      expect(classes[classify(request)]!.name).toBe(request.class)
    })
  }

  it.skipIf(!hasPython)('are classified in Python as here', () => {
    const { status, stdout, stderr } = spawnSync(
      'python3',
      ['test/golden/classify_mixed_requests.py'],
      { encoding: 'utf8' },
    )
    expect(stderr).toBe('')
    expect(status).toBe(0)
    const { cases, wrong } = JSON.parse(stdout)
    expect(wrong).toEqual([])
    expect(cases).toBe(2 * golden.sets.reduce((sum, { requests }) => sum + requests.length, 0))
  })

  it('need a class to go to', () => {
    const error = (() => {
      try {
        return createClassifier([])
      } catch (thrown) {
        return thrown
      }
    })()
    expect(isHorizonError(error) && error.code).toBe('ERR_ADAPTERS_CLASSES')
  })
})
