import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { applyEnvironment, configJsonSchema } from '../src/config-file.js'
import { createHorizon, type Horizon, type HorizonConfig, parseConfig } from '../src/index.js'
import { thrownBy } from './support/fixture.js'

const GOOD = {
  classes: {
    chat: { output: 'text', sloMs: 400 },
    speech: { output: 'audio', soloP95Ms: 800, sloMultiplier: 4 },
    picture: { output: 'image', soloP95Ms: 2000, priority: 7 },
  },
  profile: {
    chat: {
      shared: {
        promptTokens: [
          [0, 15],
          [4000, 160],
        ],
      },
    },
    speech: {
      shared: {
        promptTokens: [
          [0, 40],
          [4000, 200],
        ],
      },
      downstream: { fixedMs: 450 },
    },
    picture: {
      shared: { fixedMs: 40 },
      downstream: { fixedMs: 1500 },
      downstreamBusy: { fixedMs: 1600 },
    },
  },
  ladder: { totalSms: 142, levels: [48, 64, 80] },
} as const satisfies HorizonConfig

/** GOOD with one field replaced, by its path. */
function bent(path: string, value: unknown): HorizonConfig {
  const copy = structuredClone(GOOD) as unknown as Record<string, unknown>
  const keys = path.split('.')
  let at = copy
  for (const key of keys.slice(0, -1)) {
    at[key] ??= {}
    at = at[key] as Record<string, unknown>
  }
  at[keys[keys.length - 1]!] = value
  return copy as unknown as HorizonConfig
}

test('defaults: short for text, long for the rest; SLO from solo p95; the field of the paper for priorities', () => {
  const { classes, policy } = parseConfig(GOOD)
  expect(classes).toEqual([
    { name: 'chat', path: 'short', sloMs: 400, priority: 0 },
    { name: 'speech', path: 'long', sloMs: 3200, priority: 10 },
    { name: 'picture', path: 'long', sloMs: 10_000, priority: 7 },
  ])
  expect(policy.name).toBe('horizonserve')
  expect(policy.urgency).toEqual({ uGuard: 2, uLost: 1, downstreamWait: true })
})

const NAN = Number.NaN
const INFINITE = Number.POSITIVE_INFINITY
/** Field, impossible values, and the field that the error names where it is not the same. */
const BAD: readonly (readonly [string, readonly unknown[], string?])[] = [
  ['preset', ['paper', 1, null]],
  ['classes', [null, 3, 'chat']],
  ['classes.chat', [null, 1]],
  ['classes.chat.output', ['smell', null, 1]],
  ['classes.chat.path', ['medium']],
  ['classes.chat.sloMs', [0, -1, NAN, INFINITE, '400']],
  ['classes.chat.soloP95Ms', [80], 'classes.chat'],
  ['classes.speech.soloP95Ms', [0, NAN]],
  ['classes.speech.sloMultiplier', [0, -5]],
  ['classes.chat.priority', [NAN, INFINITE, 'high']],
  ['classes.chat.inputs', [[], 'text']],
  ['classes.chat.inputs', [['smell']], 'classes.chat.inputs[0]'],
  ['classes.chat.extra', [1]],
  ['profile', [null, 7]],
  ['profile.chat', [null]],
  ['profile.chat.shared', [null, undefined]],
  ['profile.chat.shared.fixedMs', [-1, NAN, INFINITE]],
  ['profile.chat.shared.promptTokens', [[], 5]],
  ['profile.chat.shared.audioSeconds', [[[0, -1]]], 'profile.chat.shared.audioSeconds[0][1]'],
  ['profile.chat.shared.images', [[[NAN, 1]]], 'profile.chat.shared.images[0][0]'],
  ['profile.chat.shared.videos', [[[1]]], 'profile.chat.shared.videos[0]'],
  ['profile.chat.shared.pages', [[[0, 1]]]],
  ['profile.speech.downstream', [undefined, null]],
  ['profile.chat.decodeTokens', [-1]],
  ['profile.chat.decodeMsPerToken', [-1, NAN]],
  ['profile.stranger', [{ shared: {} }]],
  ['ladder', [null, []]],
  ['ladder.totalSms', [0, 1.5, NAN]],
  ['ladder.levels', [[], 48]],
  ['ladder.levels', [[0]], 'ladder.levels[0]'],
  ['ladder.aggressiveSms', [0, 1.5]],
  ['ladder.rows', [[1]]],
  ['uGuard', [-0.1, 1001, NAN, '2']],
  ['rotation', [true, 3]],
  ['rotation.m', [0, 1.5, 1_000_001], 'rotation'],
  ['rotation.nMin', [-1], 'rotation'],
  ['rotation.nMax', [0], 'rotation'],
  ['rotation.update', ['sometimes'], 'rotation'],
  ['longPathCap', [0, 1.5, true, NAN]],
  ['capCounts', ['decode']],
  ['triage', [true, 1]],
  ['triage.uLost', [0, -1], 'triage'],
  ['triage.shareFloor', [-0.1, 1.1], 'triage'],
  ['throttle', [true, 0]],
  ['throttle.gamma', [0, 1.1], 'throttle'],
  ['throttle.saturation', [0, 1.1], 'throttle'],
  ['throttle.deltaStep', [0, 1.5], 'throttle'],
  ['throttle.smoothing', ['never'], 'throttle'],
  ['fixedCapSms', [0, 1.5, 50]],
  ['order', ['random']],
  ['workConserving', ['yes', 1]],
  ['estimates', [null]],
  ['estimates.slowdownGain', [-0.1, 1.1, NAN]],
  ['estimates.maxSlowdown', [0.9, INFINITE]],
  ['estimates.downstreamConcurrency', [0, 1.5]],
  ['estimates.hope', [1]],
  ['capacity', [5]],
  ['capacity.maxRequests', [0, 1.5, 2 ** 24 + 1]],
  ['capacity.initialRequests', [-1, 0.5]],
  ['nonsense', [1]],
]

const CASES = BAD.flatMap(([field, values, named]) =>
  values.map(
    (value) => [field, String(JSON.stringify(value) ?? value), value, named ?? field] as const,
  ),
)

test.each(CASES)('%s = %s is refused by name', (field, _text, value, named) => {
  const thrown = thrownBy(() => createHorizon(bent(field, value)))
  expect(thrown.code).toBe('ERR_CONFIG_INVALID')
  expect(thrown.field?.startsWith(named), `${thrown.field} names ${named}`).toBe(true)
})

test.each([
  ['rotation', { nMin: 5, nMax: 4 }, 'ERR_POLICIES_ROTATION', 'rotation.nMax'],
  ['triage', { uLost: 3 }, 'ERR_POLICIES_URGENCY', 'triage.uLost'],
  ['uGuard', 30, 'ERR_CONFIG_GUARD', 'uGuard'],
  ['ladder.levels', [64, 48], 'ERR_CORE_LADDER', 'ladder.levels[1]'],
  ['ladder.levels', [64, 142], 'ERR_CORE_LADDER', 'ladder.aggressiveSms'],
  ['ladder.aggressiveSms', 143, 'ERR_CORE_LADDER', 'ladder.aggressiveSms'],
  [
    'capacity',
    { initialRequests: 5, maxRequests: 4 },
    'ERR_CORE_CAPACITY',
    'capacity.initialRequests',
  ],
  [
    'profile.chat.shared.promptTokens',
    [
      [10, 1],
      [10, 2],
    ],
    'ERR_POLICIES_PROFILE',
    'profile.chat.shared.promptTokens[1]',
  ],
  [
    'profile.chat.shared.promptTokens',
    [
      [0, 2],
      [10, 1],
    ],
    'ERR_POLICIES_PROFILE',
    'profile.chat.shared.promptTokens[1]',
  ],
])('%s = %o is refused by the part that knows', (field, value, code, named) => {
  expect(thrownBy(() => createHorizon(bent(field, value)))).toEqual({ code, field: named })
})

test('a configuration that is none, and classes named like what every object has', () => {
  for (const config of [null, undefined, 5, 'x', []])
    expect(thrownBy(() => parseConfig(config as never)).code).toBe('ERR_CONFIG_INVALID')
  const classes = { constructor: { output: 'text', sloMs: 400 } }
  expect(thrownBy(() => parseConfig({ classes, profile: {} } as never))).toEqual({
    code: 'ERR_CONFIG_INVALID',
    field: 'profile.constructor',
  })
  expect(thrownBy(() => createHorizon({ classes: {}, profile: {} } as never)).code).toBe(
    'ERR_CORE_CLASSES',
  )
  expect(
    thrownBy(() => parseConfig(bent('classes.9lives', { output: 'text', sloMs: 1 }))).code,
  ).toBe('ERR_CONFIG_INVALID')
})

test('environment overrides: SLO by class, guard, cap, preset', () => {
  const changed = applyEnvironment(GOOD, {
    HORIZON_SLO_MS_SPEECH: '1234.5',
    HORIZON_U_GUARD: '1.5',
    HORIZON_LONG_PATH_CAP: '4',
    HORIZON_PRESET: 'literal',
    HORIZON_SLO_MS_CHAT: undefined,
    PATH: '/bin',
  })
  const { classes, policy } = parseConfig(changed)
  expect(classes.map(({ sloMs }) => sloMs)).toEqual([400, 1234.5, 10_000])
  expect(policy.name).toBe('horizonserve-literal')
  expect(policy.urgency.uGuard).toBe(1.5)
  expect(GOOD.classes.speech).toEqual({ output: 'audio', soloP95Ms: 800, sloMultiplier: 4 })
})

test.each([
  [{ HORIZON_SLO_MS_NOPE: '5' }, 'HORIZON_SLO_MS_NOPE'],
  [{ HORIZON_SLO_MS_CHAT: 'fast' }, 'HORIZON_SLO_MS_CHAT'],
  [{ HORIZON_U_GUARD: '' }, 'HORIZON_U_GUARD'],
  [{ HORIZON_LONG_PATH_CAP: 'Infinity' }, 'HORIZON_LONG_PATH_CAP'],
])('%o is refused', (environment, field) => {
  expect(thrownBy(() => applyEnvironment(GOOD, environment))).toEqual({
    code: 'ERR_CONFIG_ENVIRONMENT',
    field,
  })
})

test('an override that could mean two classes is refused; one out of range is refused by the schema', () => {
  const two = { ...GOOD, classes: { 'a-b': GOOD.classes.chat, 'a.b': GOOD.classes.chat } } as never
  expect(thrownBy(() => applyEnvironment(two, { HORIZON_SLO_MS_A_B: '5' })).code).toBe(
    'ERR_CONFIG_ENVIRONMENT',
  )
  expect(
    thrownBy(() => parseConfig(applyEnvironment(GOOD, { HORIZON_SLO_MS_CHAT: '-5' }))),
  ).toEqual({
    code: 'ERR_CONFIG_INVALID',
    field: 'classes.chat.sloMs',
  })
  expect(thrownBy(() => parseConfig(applyEnvironment(GOOD, { HORIZON_PRESET: 'x' }))).field).toBe(
    'preset',
  )
})

test('the JSON Schema, written to a file and read back, takes good configurations and refuses bad ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'horizon-schema-'))
  try {
    const path = join(folder, 'horizonserve.schema.json')
    await writeFile(path, JSON.stringify(configJsonSchema(), null, 2))
    const schema = JSON.parse(await readFile(path, 'utf8'))
    expect(schema.type).toBe('object')
    expect(schema.required).toEqual(['classes', 'profile'])
    expect(schema.additionalProperties).toBe(false)
    const validator = z.fromJSONSchema(schema)
    expect(validator.safeParse(GOOD).success).toBe(true)
    const full = {
      ...GOOD,
      preset: 'literal',
      uGuard: 1,
      rotation: false,
      longPathCap: 3,
      triage: { uLost: 1 },
      throttle: { gamma: 0.5 },
      order: 'deadline',
      estimates: { slowdownGain: 0 },
      capacity: { maxRequests: 9 },
    }
    expect(validator.safeParse(full).success).toBe(true)
    for (const [field, value] of [
      ['nonsense', 1],
      ['uGuard', -1],
      ['longPathCap', 0],
      ['order', 'x'],
      ['classes.chat.output', 'x'],
    ] as const)
      expect(validator.safeParse(bent(field, value)).success, field).toBe(false)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('class names are inferred', () => {
  const horizon = createHorizon(GOOD)
  expectTypeOf(horizon).toEqualTypeOf<Horizon<'chat' | 'speech' | 'picture'>>()
  expectTypeOf(horizon.arrive)
    .parameter(0)
    .toHaveProperty('class')
    .toEqualTypeOf<'chat' | 'speech' | 'picture'>()
  expectTypeOf(horizon.metrics().classes).toHaveProperty('speech')
  expectTypeOf(horizon.classes.names).toEqualTypeOf<readonly ('chat' | 'speech' | 'picture')[]>()
  expectTypeOf(horizon.arrive({ class: 'chat' }, 0)).toBeNumber()
  // @ts-expect-error no such class
  expect(() => horizon.arrive({ class: 'video' }, 0)).toThrow(/unknown class/)
  // @ts-expect-error no such class
  expect(() => horizon.setSlowdown('video', 2)).toThrow(/impossible slowdown/)
  const classes = { a: { output: 'text', sloMs: 1 } } as const
  // @ts-expect-error a class without a profile
  expect(() => createHorizon({ classes, profile: {} })).toThrow(/profile.a/)
})

test.each([
  ['priority', ['chat', 'picture', 'speech']],
  ['deadline', ['chat', 'speech', 'picture']],
  ['arrival', ['picture', 'speech', 'chat']],
] as const)('order: %s', (order, expected) => {
  const horizon = createHorizon({ ...GOOD, order, rotation: false, triage: false, throttle: false })
  for (const name of ['picture', 'speech', 'chat'] as const)
    horizon.arrive({ class: name, id: name }, 0)
  expect([...horizon.step(1, undefined, true).view].map((h) => horizon.idOf(h))).toEqual(expected)
  expect(horizon.decision.capSms).toBe(142)
})

test('fixedCapSms holds one row while co-running', () => {
  const horizon = createHorizon({ ...GOOD, fixedCapSms: 64 })
  expect([0, 1].map((pressure, k) => horizon.step(k, pressure, true).capSms)).toEqual([64, 64])
  expect(horizon.step(3, 1, false).capSms).toBe(142)
})

test('slots keep half of them from lost requests, where there are any', () => {
  const filters = (more: Partial<HorizonConfig>): string[] =>
    parseConfig({ ...GOOD, ...more })
      .policy.filters()
      .map((of) => of.name)
  expect(filters({ slots: 8 })).toContain('slot-reserve')
  expect(filters({ slots: 8, slotReserve: 2 })).toContain('slot-reserve')
  for (const more of [{ slotReserve: false }, { triage: false }, { preset: 'literal' }] as const)
    expect(filters({ slots: 8, ...more })).not.toContain('slot-reserve')
  expect(filters({})).not.toContain('slot-reserve')
})

test('a reserve without slots, without triage or as large as the slots is refused', () => {
  const refused = (more: Partial<HorizonConfig>) =>
    thrownBy(() => parseConfig({ ...GOOD, ...more }))
  expect(refused({ slotReserve: 2 })).toMatchObject({ field: 'slots' })
  expect(refused({ slots: 4, slotReserve: 4 })).toMatchObject({
    code: 'ERR_POLICIES_SLOT_RESERVE',
  })
  expect(refused({ slots: 4, triage: false, slotReserve: 1 })).toMatchObject({
    code: 'ERR_POLICIES_URGENCY',
  })
})
