/**
 * @module
 * What goes wrong in a fleet: endpoints and pickers die, pages freeze, lists change, clients leave. Five times each, 200 with
 * `HORIZON_LONG=1`.
 */
export const FAULT_CASES = []
