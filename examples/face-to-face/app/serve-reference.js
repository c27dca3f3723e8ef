/** The reference as a backend: one device, all outputs at the end. */
import { serve } from './backend.js'
import { openDevice } from './device.js'
import { faceToFace } from './reference.js'

const device = openDevice()
await serve(
  async (input, emit) => {
    for (const chunk of await faceToFace(input, device.hold)) emit(chunk)
  },
  () => device.close(),
)
