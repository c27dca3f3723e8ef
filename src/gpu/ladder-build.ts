/**
 * @module
 * From wishes to cut rows: one split of the device, then every row by the first method that the driver accepts.
 */
import { HorizonError } from '../core/errors.js'
import { CU_RESULT } from './abi.js'
import type { CudaLibrary } from './cuda.js'
import type { DescribedRow, LadderDescription, RowMethod } from './ladder-description.js'
import { type DroppedLevel, planRows, type SplitShape } from './ladder-plan.js'
import {
  type CutRow,
  closeRow,
  cutRow,
  isRefusal,
  methodsOf,
  type RowMaterial,
} from './ladder-row.js'
import { isGpuError } from './result.js'
import { type SmResources, type Split, splitByCount } from './sm-resource.js'

/** Rows of a ladder, and what was left out. The aggressive row is `undefined` where it is the whole device. */
export interface CutLadder {
  readonly levels: readonly CutRow[]
  readonly aggressive: CutRow | undefined
  readonly dropped: readonly DroppedLevel[]
}

/** Some parts refuse their own minimum: a multiple of it makes coarser groups, which the description then records. */
export function splitDevice(
  cuda: CudaLibrary,
  input: SmResources,
  totalSms: number,
  minSms: number,
): { readonly split: Split; readonly minCount: number } {
  for (let minCount = minSms; ; minCount *= 2) {
    try {
      const split = splitByCount(
        cuda,
        input,
        Math.max(1, Math.floor(totalSms / minCount)),
        minCount,
      )
      return { split, minCount }
    } catch (error) {
      if (!isRefusal(error) || minCount * 4 > totalSms) throw error
    }
  }
}

/** Cuts rows near the wanted counts. Rows made before a failure are closed again. */
export function cutWanted(
  material: RowMaterial,
  shape: SplitShape,
  wanted: readonly number[],
  aggressiveSms: number,
): CutLadder {
  const plan = planRows(shape, wanted)
  const dropped = [...plan.dropped]
  const levels: CutRow[] = []
  let aggressive: CutRow | undefined
  try {
    let isFull = false
    for (const { groups, wantedSms } of plan.rows) {
      const row: CutRow | string = isFull ? OUT_OF_MEMORY : cutByAnyMethod(material, groups)
      isFull = row === OUT_OF_MEMORY
      if (typeof row === 'string') dropped.push({ wantedSms, reason: row })
      else levels.push(row)
    }
    const top = levels.at(-1)
    if (top === undefined) throw emptyLadder(dropped)
    if (aggressiveSms < shape.totalSms) {
      const groups = Math.min(shape.numGroups, Math.round(aggressiveSms / shape.groupSms))
      const row =
        groups > top.groups
          ? cutByAnyMethod(material, groups)
          : `no row between the last level (${top.sharedSms}) and the device`
      if (typeof row !== 'string') aggressive = row
      else
        dropped.push({
          wantedSms: aggressiveSms,
          reason: `${row}; the whole device serves instead`,
        })
    }
    return { levels, aggressive, dropped }
  } catch (error) {
    for (const row of levels) closeRow(row)
    throw error
  }
}

/** Cuts exactly the rows of a description. @throws `ERR_GPU_LADDER_MISMATCH` where the device gives another row */
export function cutDescribed(
  material: RowMaterial,
  shape: SplitShape,
  description: LadderDescription,
): CutLadder {
  for (const field of ['totalSms', 'groupSms', 'numGroups'] as const)
    if (description[field] !== shape[field]) throw mismatch(field, description[field], shape[field])
  const made: CutRow[] = []
  const cut = (row: DescribedRow, field: string): CutRow => {
    const result = cutByAnyMethod(material, row.groups, [row.method])
    if (typeof result === 'string') throw mismatch(field, row.sharedSms, result)
    made.push(result)
    if (result.sharedSms !== row.sharedSms) throw mismatch(field, row.sharedSms, result.sharedSms)
    return result
  }
  try {
    const levels = description.levels.map((row, i) => cut(row, `levels[${i}]`))
    const { aggressive } = description
    return {
      levels,
      aggressive: aggressive.method === 'whole' ? undefined : cut(aggressive, 'aggressive'),
      dropped: [],
    }
  } catch (error) {
    for (const row of made) closeRow(row)
    throw error
  }
}

const OUT_OF_MEMORY = 'no GPU memory left for another context'

/** A row, or why the driver gives none. */
function cutByAnyMethod(
  material: RowMaterial,
  groups: number,
  methods: readonly RowMethod[] = methodsOf(material.cuda),
): CutRow | string {
  const reasons: string[] = []
  for (const method of methods) {
    try {
      const row = cutRow(material, groups, method)
      if (typeof row !== 'string') return row
      reasons.push(`${method}: ${row}`)
    } catch (error) {
      if (isGpuError(error) && error.result === CU_RESULT.CUDA_ERROR_OUT_OF_MEMORY)
        return OUT_OF_MEMORY
      if (!isRefusal(error)) throw error
      reasons.push(`${method}: ${(error as Error).message}`)
    }
  }
  return reasons.join('; ')
}

function emptyLadder(dropped: readonly DroppedLevel[]): HorizonError {
  return new HorizonError(
    'ERR_GPU_LEVEL_REFUSED',
    `the GPU gives none of the wanted levels: ${dropped.map((d) => `${d.wantedSms} SMs (${d.reason})`).join('; ')}`,
    { hint: 'Choose counts that are multiples of the granularity `horizonserve doctor` prints' },
  )
}

function mismatch(field: string, expected: unknown, got: unknown): HorizonError {
  return new HorizonError('ERR_GPU_LADDER_MISMATCH', 'this device does not split as described', {
    field,
    expected: String(expected),
    got,
    hint: 'Both processes need the same GPU, driver and MPS settings: describe the ladder anew',
  })
}
