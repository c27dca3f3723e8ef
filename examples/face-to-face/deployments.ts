/**
 * The four deployments of the example: the steps of the paper's table 1, as what a variant writes into its workspace and as
 * the placement the planner predicts from.
 */
import { type Placement, REFERENCE, type TaskGraph } from '../../src/deploy/index.js'

export interface Deployment {
  readonly id: string
  readonly title: string
  /** Finding of the analysis that makes it legal. */
  readonly finding: string
  readonly target: 'latency' | 'rate'
  readonly gpus: number
  /** What it builds on and is measured against. */
  readonly against: string
  /** Device of each stage; all on the first when empty. */
  readonly devices: Readonly<Record<string, string>>
}

export const STAGES = ['asr', 'llm', 'tts', 'dit1', 'dit2', 'dit3', 'dit4', 'vae'] as const

export const DEPLOYMENTS: readonly Deployment[] = [
  {
    id: 'streaming',
    title: 'speech streams into video, video to the display',
    finding: 'stream-edge:tts+s2v/dit1',
    target: 'latency',
    gpus: 1,
    against: REFERENCE,
    devices: {},
  },
  {
    id: 'disaggregated',
    title: 'speech and video on devices of their own',
    finding: 'disaggregate:tts+s2v',
    target: 'rate',
    gpus: 3,
    against: 'streaming',
    devices: devicesOf({ asr: 0, llm: 0, tts: 1, dit1: 2, dit2: 2, dit3: 2, dit4: 2, vae: 2 }),
  },
  {
    id: 'pipelined',
    title: 'every denoising step on a device of its own',
    finding: 'pipeline-steps:s2v',
    target: 'rate',
    gpus: 8,
    against: 'disaggregated',
    devices: devicesOf(Object.fromEntries(STAGES.map((stage, i) => [stage, i]))),
  },
]

/** The same as a placement of the pipeline's tasks. */
export function placementOf(graph: TaskGraph, deployment: Deployment): Placement {
  return Object.fromEntries(
    graph.tasks.map(({ path }) => {
      const device = deployment.devices[path.split('/').at(-1)!] ?? 'd0'
      return [path, [Number(device.slice(1))]]
    }),
  )
}

function devicesOf(numbers: Readonly<Record<string, number>>): Record<string, string> {
  return Object.fromEntries(Object.entries(numbers).map(([stage, device]) => [stage, `d${device}`]))
}
