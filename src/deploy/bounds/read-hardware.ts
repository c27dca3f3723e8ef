/**
 * @module
 * A file that describes kinds of GPU the presets do not know: memory, link speed, and what the host needs of a memory
 * that both share. YAML or JSON: `{ h20: { memoryGiB: 89, gibPerSecond: 419 } }`.
 */
import { parse } from 'yaml'
import { z } from 'zod'
import { HorizonError } from '../../core/errors.js'
import type { HardwareKind } from './machine.js'

const fileSchema = z.record(
  z.string().regex(/^[a-z][a-z0-9_-]*$/, 'a name in lower case, without spaces'),
  z.strictObject({
    memoryGiB: z.number().positive().finite(),
    gibPerSecond: z.number().positive().finite(),
    hostGiB: z.number().nonnegative().finite().optional(),
  }),
)

/** Kinds by name. Throws with the file and the field. */
export function readHardware(text: string, file: string): Readonly<Record<string, HardwareKind>> {
  let data: unknown
  try {
    data = parse(text)
  } catch (error) {
    throw new HorizonError('ERR_DEPLOY_HARDWARE', `${file} is no YAML`, {
      hint: error instanceof Error ? error.message : String(error),
      cause: error,
    })
  }
  const read = fileSchema.safeParse(data)
  if (!read.success) {
    const lines = read.error.issues.map(
      (issue) => `${file}: ${issue.path.join('.') || 'the file'}: ${issue.message}`,
    )
    throw new HorizonError('ERR_DEPLOY_HARDWARE', lines.join('\n'), {
      expected: "kinds such as 'h20: { memoryGiB: 89, gibPerSecond: 419 }'",
    })
  }
  return read.data as Readonly<Record<string, HardwareKind>>
}
