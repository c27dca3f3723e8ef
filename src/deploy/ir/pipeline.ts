/**
 * @module
 * The intermediate representation of a multimodal pipeline: what is computed, which state survives a batch, and how
 * data flows. It says nothing about where anything runs; that is a placement (`bounds/placement.ts`).
 * After FlashRT, arXiv:2607.18171, sections 3, 4.2 and 8.1. Every record here is plain data: it serialises as is.
 */

/** Kinds of parallelism inside one node. `steps` is allowed on a nested graph only: its children are denoising steps. */
export type ParallelKind = 'sequence' | 'tensor' | 'tiles' | 'steps'

/**
 * How often a node runs. `batch`: once per batch, so it is part of the period. `request`: once, before the first batch.
 * `event`: when something happens (a new spoken prompt). The last two enter the first-output latency, not the period.
 */
export type RunRate = 'batch' | 'request' | 'event'

/**
 * `streaming`: the consumer works on the producer's batches as they come. `blocking`: the consumer needs the whole
 * output, so producer and consumer never overlap; between two batch-rate nodes that is a hand-over (see `state-edges.ts`).
 */
export type EdgeMode = 'blocking' | 'streaming'

/** Milliseconds by number of GPUs, and that by hardware name; `any` stands for hardware without a row of its own. */
export type TimesMs = Readonly<Record<string, Readonly<Record<string, number>>>>

/** GiB per GPU: one number at every degree, or one per degree. */
export type MemoryGiB = number | Readonly<Record<string, number>>

/** What every node that does work says. Names of states are looked up in its own graph, then outward. */
export interface LeafFields {
  readonly description?: string
  readonly runs: RunRate
  /** Runs per batch of a `request` or `event` node, for counting its load; 0 (the paper's reading) when it is rare. */
  readonly runsPerBatch: number
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  /** Absent: not measured yet. Analysis works without; bounds and search refuse. */
  readonly timesMs?: TimesMs
  readonly memoryGiB: MemoryGiB
  readonly parallel: readonly ParallelKind[]
  /** `cpu` takes no GPU and has a lane of its own. */
  readonly device: 'gpu' | 'cpu'
}

/** A computation region whose code is ours to place. */
export interface OperationNode extends LeafFields {
  readonly kind: 'operation'
  /** Name of the function that computes it, for the interpreter; the node's path when absent. */
  readonly op?: string
}

/** An opaque third-party engine: it is placed as one piece. */
export interface EngineNode extends LeafFields {
  readonly kind: 'engine'
  /** For example `vllm-omni`, `vllm`, `sglang-omni`. */
  readonly engine: string
  readonly model?: string
  /** Stage number inside vLLM-Omni's own pipeline; nodes of one stage are placed together. */
  readonly stage?: number
  /** Names of the stages of another engine that do this node's work, by engine: `{ sglang-omni: [talker_ar] }`. */
  readonly stageNames?: Readonly<Record<string, readonly string[]>>
  /** Settings handed through to the emitted deploy file as they are: `{ max_num_seqs: 64 }`. */
  readonly engineArgs?: Readonly<Record<string, unknown>>
  /** Modality that leaves the pipeline after this node; the engine's registry says it of pipelines that it knows. */
  readonly output?: 'text' | 'audio' | 'image' | 'video' | 'action'
  readonly op?: string
}

/** What a pipeline is called in an engine. */
export interface EngineHead {
  readonly pipeline: string
  readonly model?: string
  /** Deploy file to start from, relative to the pipeline file. */
  readonly base?: string
}

/** A graph inside a node. Edges to it go to `inputs`, edges from it leave from `outputs` (its sources and sinks by default). */
export interface GraphNode extends Graph {
  readonly kind: 'graph'
  readonly description?: string
  readonly parallel: readonly ParallelKind[]
  readonly inputs?: readonly string[]
  readonly outputs?: readonly string[]
}

export type PipelineNode = OperationNode | EngineNode | GraphNode

/** A data dependence inside one batch (lambda = 0). Cross-batch ones are derived from states. */
export interface PipelineEdge {
  readonly from: string
  readonly to: string
  readonly mode: EdgeMode
  /** Bytes that cross per batch. */
  readonly payloadBytes: number
  /** Milliseconds to hand the payload to another group; absent: payload over the link of the hardware. */
  readonly transferMs?: number
}

/** Something that survives a batch: a KV cache, a streaming decoder's buffer, the current prompt. */
export interface PipelineState {
  readonly description?: string
  readonly sizeBytes: number
  /** The node it lives with; its only writer when absent. */
  readonly owner?: string
  /** Milliseconds to move it to another group. Absent: pinned, so all nodes that touch it share one group once one writes it. */
  readonly moveMs?: number
  /**
   * What is there before batch 0. `none`: nothing, so the first access must be by a node that writes it.
   * `empty`: an empty value that may be read. `given`: loaded beforehand (weights, a reference image).
   */
  readonly initial: 'none' | 'empty' | 'given'
}

/** Nodes, edges and states of one level. Order of `nodes` is the order of the reference program. */
export interface Graph {
  readonly states: Readonly<Record<string, PipelineState>>
  readonly nodes: Readonly<Record<string, PipelineNode>>
  readonly edges: readonly PipelineEdge[]
}

/** Chunks `o(k) = node`: the next `chunks` chunk numbers are released when `node` completes. */
export interface PipelineOutput {
  readonly node: string
  readonly chunks: number
  /** `streaming`: displayed chunk by chunk while later ones are made. */
  readonly mode: EdgeMode
}

export interface Pipeline extends Graph {
  readonly name: string
  readonly description?: string
  /** N of the paper: chunks that one batch releases. */
  readonly chunksPerBatch: number
  /** What is counted in a rate (frames, seconds of audio) and how many of it one batch makes; N when absent. */
  readonly unit: string
  readonly unitsPerBatch: number
  /** Nodes gated by the arrival of input (`V_in`). */
  readonly entries: readonly string[]
  readonly outputs: readonly PipelineOutput[]
  /** Name of the pipeline and of the model in an engine's registry, for the emitted deploy files. */
  readonly engines: Readonly<Record<string, EngineHead>>
}
