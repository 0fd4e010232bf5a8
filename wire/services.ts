/**
 * The services of the contract as a table of methods, with the codecs of their messages.
 * Place: the frontend looks a call's path up here, decodes the request, and encodes its answer. `Request<'X'>` and
 * `Response<'X'>` are the plain types that handlers see.
 *
 * Requests are decoded with views: payloads pin the request's buffer, which is the caller's alone (see proto.ts for what
 * absent fields read as).
 */
import type { temporal } from '@temporalio/proto';
import { AtollError } from '../kernel/errors.ts';
import { messageType, methodsOf, type MessageType } from './proto.ts';
import type { Plain } from './plain.ts';

type Workflow = temporal.api.workflowservice.v1.WorkflowService;
type Operator = temporal.api.operatorservice.v1.OperatorService;
/** What protobufjs's service classes inherit and is no RPC. */
type Inherited =
  'rpcImpl' | 'requestDelimited' | 'responseDelimited' | 'rpcCall' | 'end' | 'on' | 'off' | 'emit';
type Rpcs = Omit<Workflow, Inherited> & Omit<Operator, Inherited>;

/** Names of the RPCs of WorkflowService and OperatorService, such as `StartWorkflowExecution`. */
export type RpcName = Capitalize<Extract<keyof Rpcs, string>>;
type Signature<M extends RpcName> = Rpcs[Uncapitalize<M> & keyof Rpcs];

/** The plain request of an RPC. */
export type Request<M extends RpcName> =
  Signature<M> extends (request: infer R) => Promise<unknown> ? Plain<R> : never;
/** The plain response of an RPC. */
export type Response<M extends RpcName> =
  Signature<M> extends (request: never) => Promise<infer R> ? Plain<Omit<R, 'toJSON'>> : never;

export const WORKFLOW_SERVICE = 'temporal.api.workflowservice.v1.WorkflowService';
export const OPERATOR_SERVICE = 'temporal.api.operatorservice.v1.OperatorService';
export const HEALTH_SERVICE = 'grpc.health.v1.Health';
const SERVICES = [WORKFLOW_SERVICE, OPERATOR_SERVICE, HEALTH_SERVICE] as const;
export type ServiceName = (typeof SERVICES)[number];

export type ServiceMethod = {
  readonly service: ServiceName;
  /** Such as `StartWorkflowExecution`. */
  readonly name: string;
  /** `/service/name`, as in `:path`. */
  readonly path: string;
  readonly request: MessageType<unknown>;
  readonly response: MessageType<unknown>;
};

/** Every method that the contract names, by path; most are not built yet. */
export const METHODS: ReadonlyMap<string, ServiceMethod> = new Map(
  SERVICES.flatMap((service) =>
    methodsOf(service).map(({ name, request, response }) => {
      const path = `/${service}/${name}`;
      return [
        path,
        { service, name, path, request: messageType(request), response: messageType(response) },
      ];
    }),
  ),
);

/**
 * The method of a path.
 * @throws AtollError `unimplemented` for a path that the contract does not name
 */
export function methodOf(path: string): ServiceMethod {
  const method = METHODS.get(path);
  if (method === undefined)
    throw new AtollError('unimplemented', `unknown method ${path.slice(0, 200)}`);
  return method;
}

/** @throws AtollError `invalid-argument` for malformed bytes */
export function decodeRequest(method: ServiceMethod, bytes: Uint8Array): unknown {
  return method.request.decode(bytes);
}

/** The bytes of a plain response. */
export function encodeResponse(method: ServiceMethod, response: unknown): Uint8Array {
  return method.response.encode(response);
}

/** The path of an RPC of WorkflowService. */
export function workflowPath(
  name: Capitalize<Exclude<Extract<keyof Workflow, string>, Inherited>>,
): string {
  return `/${WORKFLOW_SERVICE}/${name}`;
}

/** The codecs that a running cell uses all the time: their first use compiles them, 10 to 30 ms each. */
const HOT = [
  'GetSystemInfo',
  'StartWorkflowExecution',
  'SignalWorkflowExecution',
  'PollWorkflowTaskQueue',
  'RespondWorkflowTaskCompleted',
  'PollActivityTaskQueue',
  'RespondActivityTaskCompleted',
  'RecordActivityTaskHeartbeat',
  'GetWorkflowExecutionHistory',
] as const satisfies readonly RpcName[];

/** Compiles the hot codecs, so that no first caller pays for it. Call once at start. */
export function warm(): void {
  for (const name of HOT) {
    const { request, response } = methodOf(`/${WORKFLOW_SERVICE}/${name}`);
    for (const type of [request, response]) type.decode(type.encode({}));
  }
}
