/**
 * `grpc.reflection.v1` and `v1alpha`, which the contract package lacks: the messages, as one table for both (they differ
 * in nothing but the name), and their plain forms.
 *
 * Place: proto.ts adds the messages to its root; router/reflection-call.ts speaks them.
 * Source: github.com/grpc/grpc, `src/proto/grpc/reflection/v1/reflection.proto`.
 */

export const REFLECTION_SERVICES = [
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
] as const;
export type ReflectionService = (typeof REFLECTION_SERVICES)[number];

/** One question; of the fields below `host` one is set. */
export type ReflectionRequest = {
  readonly host?: string;
  readonly fileByFilename?: string;
  readonly fileContainingSymbol?: string;
  readonly fileContainingExtension?: { containingType?: string; extensionNumber?: number };
  readonly allExtensionNumbersOfType?: string;
  readonly listServices?: string;
};

export type ReflectionResponse = {
  readonly validHost?: string | undefined;
  readonly originalRequest: ReflectionRequest;
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Uint8Array[] };
  readonly allExtensionNumbersResponse?: { readonly baseTypeName: string };
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
  readonly errorResponse?: { readonly errorCode: number; readonly errorMessage: string };
};

type JsonField = { id: number; type: string; rule?: 'repeated'; protoName: string };
type JsonMessage = {
  fields: Record<string, JsonField>;
  oneofs?: Record<string, { oneof: string[] }>;
};

/** The messages as protobufjs writes them down, made anew for each call: proto.ts changes what it is given. */
export function reflectionMessages(): Record<string, object> {
  return { v1: reflectionNamespace(), v1alpha: reflectionNamespace() };
}

function reflectionNamespace(): object {
  const nested: Record<string, object> = {
    ServerReflectionRequest: {
      ...message({
        host: [1, 'string'],
        file_by_filename: [3, 'string'],
        file_containing_symbol: [4, 'string'],
        file_containing_extension: [5, 'ExtensionRequest'],
        all_extension_numbers_of_type: [6, 'string'],
        list_services: [7, 'string'],
      }),
      oneofs: {
        messageRequest: {
          oneof: [
            'fileByFilename',
            'fileContainingSymbol',
            'fileContainingExtension',
            'allExtensionNumbersOfType',
            'listServices',
          ],
        },
      },
    },
    ExtensionRequest: message({ containing_type: [1, 'string'], extension_number: [2, 'int32'] }),
    ServerReflectionResponse: {
      ...message({
        valid_host: [1, 'string'],
        original_request: [2, 'ServerReflectionRequest'],
        file_descriptor_response: [4, 'FileDescriptorResponse'],
        all_extension_numbers_response: [5, 'ExtensionNumberResponse'],
        list_services_response: [6, 'ListServiceResponse'],
        error_response: [7, 'ErrorResponse'],
      }),
      oneofs: {
        messageResponse: {
          oneof: [
            'fileDescriptorResponse',
            'allExtensionNumbersResponse',
            'listServicesResponse',
            'errorResponse',
          ],
        },
      },
    },
    FileDescriptorResponse: message({ file_descriptor_proto: [1, 'bytes', 'repeated'] }),
    ExtensionNumberResponse: message({
      base_type_name: [1, 'string'],
      extension_number: [2, 'int32', 'repeated'],
    }),
    ListServiceResponse: message({ service: [1, 'ServiceResponse', 'repeated'] }),
    ServiceResponse: message({ name: [1, 'string'] }),
    ErrorResponse: message({ error_code: [1, 'int32'], error_message: [2, 'string'] }),
    ServerReflection: {
      methods: {
        ServerReflectionInfo: {
          requestType: 'ServerReflectionRequest',
          responseType: 'ServerReflectionResponse',
          requestStream: true,
          responseStream: true,
        },
      },
    },
  };
  return { nested };
}

function message(fields: Record<string, readonly [number, string, 'repeated'?]>): JsonMessage {
  const entries = Object.entries(fields).map(([protoName, [id, type, rule]]) => {
    const name = protoName.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return [name, { id, type, protoName, ...(rule === undefined ? {} : { rule }) }] as const;
  });
  return { fields: Object.fromEntries(entries) };
}
