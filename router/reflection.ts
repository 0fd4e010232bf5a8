/**
 * The answers of gRPC reflection, by which tools such as grpcurl learn the contract from the port itself.
 *
 * Place: between reflection-call.ts, which speaks the stream, and wire/file-descriptors.ts. What is answered is the
 * published contract and the same for everybody, so no rights are asked.
 */
import { GRPC_STATUS } from '../kernel/errors.ts';
import { fileOfSymbol, fileWithItsNeeds, isMessage } from '../wire/file-descriptors.ts';
import { messageType, type MessageType } from '../wire/proto.ts';
import {
  REFLECTION_SERVICES,
  type ReflectionRequest,
  type ReflectionResponse,
  type ReflectionService,
} from '../wire/reflection.ts';
import { HEALTH_SERVICE, OPERATOR_SERVICE, WORKFLOW_SERVICE } from '../wire/services.ts';

const SERVED = [WORKFLOW_SERVICE, OPERATOR_SERVICE, HEALTH_SERVICE, ...REFLECTION_SERVICES];
/** How much of what was asked for comes back in an error. */
const MAX_ECHO = 200;

type Codecs = {
  readonly request: MessageType<ReflectionRequest>;
  readonly response: MessageType<ReflectionResponse>;
};

const codecs = Object.fromEntries(
  REFLECTION_SERVICES.map((service) => [
    service,
    {
      request: messageType<ReflectionRequest>(`${service}Request`),
      response: messageType<ReflectionResponse>(`${service}Response`),
    },
  ]),
) as Readonly<Record<ReflectionService, Codecs>>;

const byPath = new Map(
  REFLECTION_SERVICES.map((service) => [`/${service}/ServerReflectionInfo`, service]),
);

/** The service of that path, if it is one of reflection's. */
export function reflectionService(path: string): ReflectionService | undefined {
  return byPath.get(path);
}

/**
 * The answer to one question of that service's stream.
 * @param turn lets others of this process go first
 * @throws AtollError `invalid-argument` for bytes that are no question
 */
export async function reflect(
  service: ReflectionService,
  question: Uint8Array,
  turn: () => Promise<void>,
): Promise<Uint8Array> {
  const { request, response } = codecs[service];
  const asked = request.decode(question);
  const answered = await answerOf(asked, turn);
  return response.encode({ validHost: asked.host, originalRequest: asked, ...answered });
}

type Answer = Omit<ReflectionResponse, 'validHost' | 'originalRequest'>;

async function answerOf(asked: ReflectionRequest, turn: () => Promise<void>): Promise<Answer> {
  if (asked.listServices !== undefined)
    return { listServicesResponse: { service: SERVED.map((name) => ({ name })) } };
  const { fileByFilename: file, fileContainingSymbol: symbol } = asked;
  if (file !== undefined) return filesOf(file, { what: `file ${file}`, turn });
  if (symbol !== undefined)
    return filesOf(fileOfSymbol(symbol) ?? '', { what: `symbol ${symbol}`, turn });
  const type = asked.allExtensionNumbersOfType;
  if (type !== undefined && isMessage(type))
    return { allExtensionNumbersResponse: { baseTypeName: type } };
  if (type !== undefined) return notFound(`type ${type}`);
  const { fileContainingExtension: extension } = asked;
  if (extension !== undefined)
    return notFound(`extension ${extension.extensionNumber} of ${extension.containingType}`);
  return error('invalid-argument', 'The question asks for nothing: set one of its fields.');
}

async function filesOf(
  file: string,
  { what, turn }: { readonly what: string; readonly turn: () => Promise<void> },
): Promise<Answer> {
  const fileDescriptorProto = await fileWithItsNeeds(file, turn);
  return fileDescriptorProto === undefined
    ? notFound(what)
    : { fileDescriptorResponse: { fileDescriptorProto } };
}

function notFound(what: string): Answer {
  return error('not-found', `${what.slice(0, MAX_ECHO)} is not in the contract that Atoll serves.`);
}

function error(code: keyof typeof GRPC_STATUS, errorMessage: string): Answer {
  return { errorResponse: { errorCode: GRPC_STATUS[code], errorMessage } };
}
