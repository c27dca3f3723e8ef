/**
 * @module
 * gRPC, loaded when a picker starts: `@grpc/grpc-js` and `@grpc/proto-loader` are optional.
 */
import { HorizonError } from '../core/errors.js'
import { EXT_PROC_PROTO } from './ext-proc-proto.js'

type GrpcJs = typeof import('@grpc/grpc-js')
type ServiceDefinition = import('@grpc/grpc-js').ServiceDefinition

export interface Grpc {
  readonly js: GrpcJs
  readonly processor: ServiceDefinition
  readonly health: ServiceDefinition
}

/** Throws `ERR_FLEET_GRPC` with the command that installs what is missing. */
export async function loadGrpc(): Promise<Grpc> {
  try {
    const [js, loader] = await Promise.all([import('@grpc/grpc-js'), import('@grpc/proto-loader')])
    const definition = loader.fromJSON(EXT_PROC_PROTO as never, {
      keepCase: true,
      longs: Number,
      enums: Number,
      oneofs: true,
    })
    return {
      js,
      processor: definition['envoy.service.ext_proc.v3.ExternalProcessor'] as ServiceDefinition,
      health: definition['grpc.health.v1.Health'] as ServiceDefinition,
    }
  } catch (cause) {
    throw new HorizonError('ERR_FLEET_GRPC', 'the gRPC packages are missing', {
      expected: '@grpc/grpc-js and @grpc/proto-loader',
      hint: 'npm install @grpc/grpc-js @grpc/proto-loader',
      cause,
    })
  }
}
