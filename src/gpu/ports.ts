/** Shapes of the core's ports that this room implements. */
export interface Actuator {
  readonly name: string
  apply(level: number): void
  readBack(): number
}
export interface PressureSample {
  value: number
  kind: string
  timestampMs: number
  source: string
}
export interface PressureSource {
  readonly name: string
  sample(out: PressureSample): boolean
}
