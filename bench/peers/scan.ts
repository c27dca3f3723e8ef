/**
 * @module
 * The plain way in JavaScript: an array of objects, looked at in each step. At 64 waiting it would do.
 */

export interface ScanRequest {
  deadlineMs: number
  estimateMs: number
  isLong: boolean
}

export class ScanScheduler {
  waiting: ScanRequest[] = []
  private k = 0
  private smooth = 0

  /** Decides and takes up to `count`; the rest stays in its old order. */
  step(nowMs: number, pressure: number, count: number): ScanRequest[] {
    let urgent = 0
    let ordinary = 0
    for (const request of this.waiting) {
      if (request.isLong) continue
      if (request.deadlineMs - nowMs < 2 * request.estimateMs) urgent += 1
      else ordinary += 1
    }
    const all = urgent + ordinary
    const n = Math.floor(2 + (all === 0 ? 0 : urgent / all) * 6 + 0.5)
    const shortPhase = this.k % (n + 2) < n
    this.k += 1
    const allowed = shortPhase
      ? undefined
      : new Set(
          this.waiting
            .filter(
              (request) => request.isLong && request.deadlineMs - nowMs >= 2 * request.estimateMs,
            )
            .sort((a, b) => a.deadlineMs - b.deadlineMs)
            .slice(0, 2),
        )
    const view = this.waiting.filter((request) => {
      if (request.deadlineMs - nowMs < 2 * request.estimateMs) return true
      return request.isLong ? (allowed?.has(request) ?? false) : shortPhase
    })
    this.smooth = 0.4 * pressure + 0.6 * this.smooth
    const taken = view.slice(0, count)
    const chosen = new Set(taken)
    this.waiting = this.waiting.filter((request) => !chosen.has(request))
    return taken
  }
}
