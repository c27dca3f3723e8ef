export {
  type Endpoint,
  type EndpointSource,
  fileEndpoints,
  parseEndpoints,
  readEndpoints,
  staticEndpoints,
} from './endpoint-list.js'
export {
  DESTINATION,
  type ExtProcServer,
  type ExtProcServerOptions,
  serveExtProc,
} from './ext-proc-server.js'
export { readMetricsPage } from './metrics-page.js'
export {
  createPicker,
  type PickAnswer,
  type Picker,
  type PickerOptions,
  type PickQuestion,
  type Trust,
} from './picker.js'
export { CLASS_HEADER, SESSION_HEADER, SLO_HEADERS } from './request-facts.js'
