/**
 * @module
 * The parameters of one GPU and one model as plain numbers, ready to compute with. Any of them may be overridden by its path
 * (`shared.slots`), which is how sensitivity is explored: the table of sources itself is never edited for a run.
 */
import { HorizonError } from '../../core/errors.js'
import { type ModalityClass, modalityClass } from './modality-class.js'
import {
  EFFICIENCY,
  GPUS,
  type GpuName,
  HAND_OVER,
  HAND_OVERS,
  type HandOverMechanism,
  MODELS,
  type ModelName,
  type ModelParameters,
  type Parameter,
  SHARING,
} from './parameters.js'

type Numbers<T> = { readonly [K in keyof T]: T[K] extends Parameter ? number : Numbers<T[K]> }

export interface OmniSpec {
  readonly gpu: GpuName
  readonly model: ModelName
  readonly totalSms: number
  /** Reached, not peak: efficiency is in it. */
  readonly tflopPerMs: number
  readonly gbPerMs: number
  readonly kvCapacityTokens: number
  readonly classes: readonly ModalityClass[]
  readonly shared: Numbers<ModelParameters['shared']>
  readonly inputs: Numbers<ModelParameters['inputs']>
  readonly downstream: Numbers<ModelParameters['downstream']>
  readonly spokenAnswerTokens: number
  readonly handOver: { readonly mechanism: HandOverMechanism; readonly queuePlaces: number }
  readonly sharing: {
    /** Pairs of SM fraction and relative memory-bound step time, fraction rising. */
    readonly memoryTimeBySmFraction: readonly (readonly [number, number])[]
    readonly fullAllocationPenalty: number
    readonly penaltyStartsAt: number
    readonly timeSliceSwitch: number
    readonly pressurePeriodMs: number
  }
  /** What was overridden, for the record of a run. */
  readonly overrides: Readonly<Record<string, number>>
}

export type Overrides = Readonly<Record<string, number>>

/** Every parameter of a GPU and a model under its path, with range and source. */
export function omniParameters(gpu: GpuName, model: ModelName): ReadonlyMap<string, Parameter> {
  const found = new Map<string, Parameter>()
  collect('gpu', known('gpu', GPUS, gpu), found)
  collect('efficiency', EFFICIENCY, found)
  collect('sharing', SHARING, found)
  collect('handOver', HAND_OVER, found)
  collect('', known('model', MODELS, model), found)
  return found
}

/** Throws `ERR_SIM_PARAMETER` for an unknown GPU, model or path, or a value that no range could hold. */
export function omniSpec(gpu: GpuName, model: ModelName, overrides: Overrides = {}): OmniSpec {
  const parameters = omniParameters(gpu, model)
  for (const [path, value] of Object.entries(overrides)) {
    if (!parameters.has(path)) {
      throw new HorizonError('ERR_SIM_PARAMETER', 'no such parameter of the simulated runtime', {
        field: path,
        expected: [...parameters.keys()].join(', '),
      })
    }
    if (!(value >= 0 && Number.isFinite(value))) {
      throw new HorizonError('ERR_SIM_PARAMETER', 'impossible value', {
        field: path,
        expected: 'a finite number of at least 0',
        got: value,
      })
    }
  }
  const at = (path: string): number => overrides[path] ?? (parameters.get(path) as Parameter).value
  const group = <T extends object>(prefix: string, of: T): Numbers<T> =>
    Object.fromEntries(Object.keys(of).map((key) => [key, at(`${prefix}.${key}`)])) as Numbers<T>
  const table: ModelParameters = MODELS[model]
  const shared = group('shared', table.shared)
  const mechanism = HAND_OVERS[at('handOver.mechanism')]
  if (mechanism === undefined) {
    throw new HorizonError('ERR_SIM_PARAMETER', 'no such hand-over', {
      field: 'handOver.mechanism',
      expected: HAND_OVERS.map((name, i) => `${i} (${name})`).join(', '),
      got: at('handOver.mechanism'),
    })
  }
  const kvBytes = (at('gpu.memoryGb') - shared.kvReserveGb) * 1e9
  return {
    gpu,
    model,
    totalSms: at('gpu.totalSms'),
    tflopPerMs: (at('gpu.tflops') * at('efficiency.compute')) / 1000,
    gbPerMs: (at('gpu.bandwidthGbs') * at('efficiency.bandwidth')) / 1000,
    kvCapacityTokens: Math.max(1, Math.floor(kvBytes / shared.kvBytesPerToken)),
    classes: table.classes.map(modalityClass),
    shared,
    inputs: group('inputs', table.inputs),
    downstream: group('downstream', table.downstream),
    spokenAnswerTokens: at('spokenAnswerTokens'),
    handOver: { mechanism, queuePlaces: at('handOver.queuePlaces') },
    sharing: {
      memoryTimeBySmFraction: SHARING.memoryTimeBySmFraction.map(
        ([fraction], i) => [fraction, at(`sharing.memoryTimeBySmFraction.${i}`)] as const,
      ),
      fullAllocationPenalty: at('sharing.fullAllocationPenalty'),
      penaltyStartsAt: at('sharing.penaltyStartsAt'),
      timeSliceSwitch: at('sharing.timeSliceSwitch'),
      pressurePeriodMs: at('sharing.pressurePeriodMs'),
    },
    overrides,
  }
}

/** Walks the tables; a pair `[fraction, parameter]` is filed under its place in the list. */
function collect(prefix: string, node: object, into: Map<string, Parameter>): void {
  for (const [key, value] of Object.entries(node)) {
    const path = prefix === '' ? key : `${prefix}.${key}`
    if (isParameter(value)) into.set(path, value)
    else if (Array.isArray(value) && Array.isArray(value[0])) {
      for (const [i, pair] of value.entries()) into.set(`${path}.${i}`, pair[1])
    } else if (typeof value === 'object' && !Array.isArray(value)) collect(path, value, into)
  }
}

function isParameter(value: unknown): value is Parameter {
  return typeof value === 'object' && value !== null && 'source' in value && 'low' in value
}

function known<T extends object, K extends string>(field: string, table: T, name: K): T[keyof T] {
  if (Object.hasOwn(table, name)) return table[name as unknown as keyof T]
  throw new HorizonError('ERR_SIM_PARAMETER', `unknown ${field}`, {
    field,
    expected: Object.keys(table).join(', '),
    got: name,
  })
}
