/**
 * @module
 * The JSON Schema of the configuration, with what each field means. It stands apart from the schema that checks, so that who only
 * makes a scheduler does not load these texts.
 */
import { toJSONSchema } from 'zod/v4/core'
import { horizonConfigSchema } from './config-form.js'

const STAGE =
  'Solo time of a stage: a fixed part plus one curve of [input, ms] points per kind of input'

/** Texts by path; `*` stands for every class. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  preset: 'literal: the paper as printed',
  'classes.*.output': 'What the user gets; text leaves after the shared stage',
  'classes.*.inputs': 'Input modalities of the class, for classification',
  'classes.*.path': 'Default: short for text, long for audio and image',
  'classes.*.sloMs': 'First-response SLO, ms after arrival',
  'classes.*.soloP95Ms':
    'p95 of the first response alone on the GPU; times sloMultiplier it is the SLO',
  'classes.*.sloMultiplier': 'Default 5, as in the paper',
  'classes.*.priority': 'Default 0 text, 10 audio, 20 image',
  'profile.*.shared': STAGE,
  'profile.*.downstream': STAGE,
  'profile.*.downstreamBusy': STAGE,
  'ladder.levels': 'Co-running SM counts, Smin first, Scap last',
  'ladder.aggressiveSms': 'While no downstream stage runs. Default: totalSms',
  uGuard: 'A request is protected below this slack ratio. Default 2; 0: off',
  longPathCap: 'Most ordinary long-path requests in the shared stage. Default 2',
  slots:
    'Slots of the shared stage (vLLM: max_num_seqs). With triage, half of them are kept free from lost requests, and shareFloor counts slot time. Recommended where the number is known',
  slotReserve: 'Slots that lost requests leave free. Default half of slots; false: none',
  fixedCapSms: 'Hold this row while co-running instead of throttling',
  pressure:
    'Where `horizonserve run` reads memory pressure: source (default auto), device (NVML index, UUID or PCI id), everyMs (default 100). Default: auto where there is a ladder; false: none',
  order: 'Base order of the view. Default arrival',
}

interface SchemaNode {
  description?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode
}

/** JSON Schema of the configuration, for editors. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = toJSONSchema(horizonConfigSchema, { io: 'input' }) as SchemaNode
  schema.description = 'horizonserve configuration'
  for (const [path, text] of Object.entries(DESCRIPTIONS)) nodeAt(schema, path).description = text
  return schema as Record<string, unknown>
}

function nodeAt(schema: SchemaNode, path: string): SchemaNode {
  let node: SchemaNode = schema
  for (const key of path.split('.'))
    node = (key === '*' ? node.additionalProperties : node.properties?.[key])!
  return node
}
