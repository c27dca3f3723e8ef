/**
 * @module
 * The messages of Envoy's external processor (envoy.service.ext_proc.v3) and of gRPC health that a picker needs, with their field
 * numbers. Written down here because the published TypeScript copies are older than streamed bodies. Unknown fields are skipped.
 */

const field = (id: number, type: string): { id: number; type: string } => ({ id, type })
const list = (id: number, type: string): object => ({ id, type, rule: 'repeated' })
const map = (id: number, type: string): object => ({ id, type, keyType: 'string' })

const core = {
  HeaderValue: {
    fields: { key: field(1, 'string'), value: field(2, 'string'), raw_value: field(3, 'bytes') },
  },
  HeaderMap: { fields: { headers: list(1, 'HeaderValue') } },
  HeaderValueOption: {
    fields: { header: field(1, 'HeaderValue'), append_action: field(3, 'uint32') },
  },
  Metadata: { fields: { filter_metadata: map(1, 'google.protobuf.Struct') } },
}

const struct = {
  Struct: { fields: { fields: map(1, 'Value') } },
  Value: {
    oneofs: { kind: { oneof: ['number_value', 'string_value', 'struct_value', 'list_value'] } },
    fields: {
      number_value: field(2, 'double'),
      string_value: field(3, 'string'),
      struct_value: field(5, 'Struct'),
      list_value: field(6, 'ListValue'),
    },
  },
  ListValue: { fields: { values: list(1, 'Value') } },
}

const CORE = 'envoy.config.core.v3'

const processor = {
  ProcessingRequest: {
    oneofs: {
      request: {
        oneof: [
          'request_headers',
          'response_headers',
          'request_body',
          'response_body',
          'request_trailers',
          'response_trailers',
        ],
      },
    },
    fields: {
      request_headers: field(2, 'HttpHeaders'),
      response_headers: field(3, 'HttpHeaders'),
      request_body: field(4, 'HttpBody'),
      response_body: field(5, 'HttpBody'),
      request_trailers: field(6, 'HttpTrailers'),
      response_trailers: field(7, 'HttpTrailers'),
      metadata_context: field(8, `${CORE}.Metadata`),
      attributes: map(9, 'google.protobuf.Struct'),
      protocol_config: field(11, 'ProtocolConfiguration'),
    },
  },
  ProtocolConfiguration: {
    fields: { request_body_mode: field(1, 'uint32'), response_body_mode: field(2, 'uint32') },
  },
  HttpHeaders: {
    fields: { headers: field(1, `${CORE}.HeaderMap`), end_of_stream: field(3, 'bool') },
  },
  HttpBody: { fields: { body: field(1, 'bytes'), end_of_stream: field(2, 'bool') } },
  HttpTrailers: { fields: { trailers: field(1, `${CORE}.HeaderMap`) } },
  ProcessingResponse: {
    oneofs: {
      response: {
        oneof: [
          'request_headers',
          'response_headers',
          'request_body',
          'response_body',
          'request_trailers',
          'response_trailers',
          'immediate_response',
        ],
      },
    },
    fields: {
      request_headers: field(1, 'HeadersResponse'),
      response_headers: field(2, 'HeadersResponse'),
      request_body: field(3, 'BodyResponse'),
      response_body: field(4, 'BodyResponse'),
      request_trailers: field(5, 'TrailersResponse'),
      response_trailers: field(6, 'TrailersResponse'),
      immediate_response: field(7, 'ImmediateResponse'),
      dynamic_metadata: field(8, 'google.protobuf.Struct'),
    },
  },
  HeadersResponse: { fields: { response: field(1, 'CommonResponse') } },
  BodyResponse: { fields: { response: field(1, 'CommonResponse') } },
  TrailersResponse: { fields: { header_mutation: field(1, 'HeaderMutation') } },
  CommonResponse: {
    fields: {
      status: field(1, 'uint32'),
      header_mutation: field(2, 'HeaderMutation'),
      body_mutation: field(3, 'BodyMutation'),
      clear_route_cache: field(5, 'bool'),
    },
  },
  HeaderMutation: {
    fields: {
      set_headers: list(1, `${CORE}.HeaderValueOption`),
      remove_headers: list(2, 'string'),
    },
  },
  BodyMutation: { fields: { streamed_response: field(3, 'StreamedBodyResponse') } },
  StreamedBodyResponse: { fields: { body: field(1, 'bytes'), end_of_stream: field(2, 'bool') } },
  ImmediateResponse: {
    fields: {
      status: field(1, 'HttpStatus'),
      headers: field(2, 'HeaderMutation'),
      body: field(3, 'bytes'),
    },
  },
  HttpStatus: { fields: { code: field(1, 'uint32') } },
  ExternalProcessor: {
    methods: {
      Process: {
        requestType: 'ProcessingRequest',
        requestStream: true,
        responseType: 'ProcessingResponse',
        responseStream: true,
      },
    },
  },
}

const health = {
  HealthCheckRequest: { fields: { service: field(1, 'string') } },
  HealthCheckResponse: { fields: { status: field(1, 'uint32') } },
  Health: {
    methods: {
      Check: { requestType: 'HealthCheckRequest', responseType: 'HealthCheckResponse' },
      Watch: {
        requestType: 'HealthCheckRequest',
        responseType: 'HealthCheckResponse',
        responseStream: true,
      },
    },
  },
}

const inside = (path: string, nested: object): object =>
  path.split('.').reduceRight<object>((of, name) => ({ nested: { [name]: of } }), { nested })

/** Merges trees of packages. */
function merge(a: Record<string, unknown>, b: Record<string, unknown>): Record<string, unknown> {
  const out = { ...a }
  for (const [key, value] of Object.entries(b)) {
    const there = out[key]
    out[key] =
      typeof there === 'object' && there !== null
        ? merge(there as Record<string, unknown>, value as Record<string, unknown>)
        : value
  }
  return out
}

/** As protobufjs takes it. */
export const EXT_PROC_PROTO = [
  inside(CORE, core),
  inside('google.protobuf', struct),
  inside('envoy.service.ext_proc.v3', processor),
  inside('grpc.health.v1', health),
].reduce<Record<string, unknown>>((all, one) => merge(all, one as Record<string, unknown>), {})

/** Body modes of `protocol_config`. */
export const BODY_MODE = Object.freeze({
  none: 0,
  streamed: 1,
  buffered: 2,
  bufferedPartial: 3,
  fullDuplexStreamed: 4,
})
