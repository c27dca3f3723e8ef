export type { SectionHeader } from './format.js'
export { createRecordedHorizon } from './recorded-horizon.js'
export {
  createRecorder,
  type Recorder,
  type RecorderOptions,
  type RecordingSink,
} from './recorder.js'
export {
  type FileRecorder,
  fileRecorder,
  type RecordingFile,
  recordingFile,
} from './recording-file.js'
export {
  type Replay,
  type ReplayDifference,
  type ReplayedEvent,
  type ReplayOptions,
  replayRecording,
} from './replay.js'
