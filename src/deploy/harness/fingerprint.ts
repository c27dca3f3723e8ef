/**
 * @module
 * Where a measurement was made: what must not change between the runs of one stage, and what a reader needs to judge it.
 */
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os'

export interface Fingerprint {
  readonly platform: string
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly node: string
  /** Load of the last minute: context, not identity. */
  readonly load1: number
}

export function fingerprint(): Fingerprint {
  return {
    platform: `${platform()} ${release()} ${arch()}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    load1: Math.round(100 * loadavg()[0]!) / 100,
  }
}

/** True when runs on both may be compared. */
export function sameEnvironment(a: Fingerprint, b: Fingerprint): boolean {
  return a.platform === b.platform && a.cpu === b.cpu && a.cores === b.cores && a.node === b.node
}
