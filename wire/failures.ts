/**
 * The errors that SDKs recognise: an AtollError whose detail names a message of `temporal.api.errordetails.v1`, and
 * its form as `google.rpc.Status` for the `grpc-status-details-bin` trailer.
 * Place: made anywhere in a cell, encoded once, where the frontend's RpcServer answers.
 */
import { AtollError, GRPC_STATUS, type ErrorCode } from '../kernel/errors.ts';
import { MAX_DETAILS_BYTES } from '../kernel/rpc/status.ts';
import type { ResourceExhaustedCause, ResourceExhaustedScope } from './enums.ts';
import type { Failure } from './plain.ts';
import { messageType, type MessageType } from './proto.ts';

/** `type_url` is how the package spells this one field. */
type Any = { readonly type_url?: string; readonly value?: Uint8Array };
type Status = {
  readonly code?: number;
  readonly message?: string;
  readonly details?: readonly Any[];
};

const STATUS = messageType<Status>('google.rpc.Status');
const PACKAGE = 'temporal.api.errordetails.v1';
const URL_PREFIX = 'type.googleapis.com/';

/** The details that we send; each is a message of that name in the contract. */
const DETAILS = new Map<string, MessageType<unknown>>(
  [
    ...['NotFoundFailure', 'WorkflowExecutionAlreadyStartedFailure', 'NamespaceNotActiveFailure'],
    ...['NamespaceUnavailableFailure', 'NamespaceInvalidStateFailure', 'NamespaceNotFoundFailure'],
    ...['NamespaceAlreadyExistsFailure', 'ClientVersionNotSupportedFailure'],
    ...['CancellationAlreadyRequestedFailure', 'QueryFailedFailure', 'PermissionDeniedFailure'],
    ...['ResourceExhaustedFailure', 'SystemWorkflowFailure', 'WorkflowNotReadyFailure'],
    ...['NewerBuildExistsFailure', 'MultiOperationExecutionFailure'],
  ].map((name) => [name, messageType(`${PACKAGE}.${name}`)]),
);

/** A workflow with that id is running, or has run and may not again: `runId` is the run in the way. */
export function alreadyStarted(run: {
  readonly workflowId: string;
  readonly requestId: string;
  readonly runId: string;
  readonly message?: string | undefined;
}): AtollError {
  const message =
    run.message ?? `workflow ${run.workflowId} is already running, as run ${run.runId}`;
  const value = { startRequestId: run.requestId, runId: run.runId };
  return failure('already-exists', message, ['WorkflowExecutionAlreadyStartedFailure', value]);
}

export function namespaceNotFound(namespace: string): AtollError {
  const message = `namespace ${namespace} is not found; register it first, or check its spelling`;
  return failure('not-found', message, ['NamespaceNotFoundFailure', { namespace }]);
}

export function namespaceAlreadyExists(namespace: string): AtollError {
  return failure('already-exists', `namespace ${namespace} already exists`, [
    'NamespaceAlreadyExistsFailure',
    {},
  ]);
}

/** This cell is not the active one of the namespace: for the router, which learns and asks the other (D8). */
export function namespaceNotActive(where: {
  readonly namespace: string;
  readonly currentCell: string;
  readonly activeCell: string;
}): AtollError {
  const { namespace, currentCell, activeCell } = where;
  const message = `namespace ${namespace} is active in cell ${activeCell}, not in ${currentCell}`;
  const value = { namespace, currentCluster: currentCell, activeCluster: activeCell };
  return failure('failed-precondition', message, ['NamespaceNotActiveFailure', value]);
}

/** A run, task, activity or other thing that is not there (any more). */
export function notFound(message: string): AtollError {
  return failure('not-found', message, ['NotFoundFailure', {}]);
}

export function cancellationAlreadyRequested(message: string): AtollError {
  return failure('already-exists', message, ['CancellationAlreadyRequestedFailure', {}]);
}

/** The worker answered a query with a failure. */
export function queryFailed(message: string, cause?: Failure): AtollError {
  return failure('invalid-argument', message, ['QueryFailedFailure', { failure: cause }]);
}

/** The run cannot take that call yet or now, such as a query while its workflow tasks fail. */
export function workflowNotReady(message: string): AtollError {
  return failure('failed-precondition', message, ['WorkflowNotReadyFailure', {}]);
}

export function resourceExhausted(limit: {
  readonly cause: ResourceExhaustedCause;
  readonly scope: ResourceExhaustedScope;
  readonly message: string;
}): AtollError {
  const { cause, scope, message } = limit;
  return failure('resource-exhausted', message, ['ResourceExhaustedFailure', { cause, scope }]);
}

export function permissionDenied(message: string, reason: string): AtollError {
  return failure('permission-denied', message, ['PermissionDeniedFailure', { reason }]);
}

/** What the client sent is wrong. SDKs map the code alone; there is no detail for it. */
export function invalidArgument(message: string): AtollError {
  return new AtollError('invalid-argument', message);
}

/**
 * The `google.rpc.Status` of an error with a detail that SDKs know; undefined for others, whose code and message say
 * all. A query's failure that would not fit in a header travels as its message only.
 */
export function encodeStatusDetails(error: AtollError): Uint8Array | undefined {
  const type = DETAILS.get(error.detail?.type ?? '');
  if (error.detail === undefined || type === undefined) return undefined;
  const whole = encodeStatus(error, type, error.detail.value);
  if (whole.length <= MAX_DETAILS_BYTES) return whole;
  return encodeStatus(error, type, shortened(error.detail.value));
}

/** The typed details in such bytes by name: `[['NotFoundFailure', {}]]`. Unknown ones are left out. */
export function decodeStatusDetails(bytes: Uint8Array): readonly (readonly [string, unknown])[] {
  return (STATUS.decode(bytes).details ?? []).flatMap(
    ({ type_url: typeUrl = '', value = new Uint8Array() }) => {
      const name = typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
      const type = DETAILS.get(name);
      return type === undefined ? [] : [[name, type.decode(value)] as const];
    },
  );
}

function encodeStatus(error: AtollError, type: MessageType<unknown>, value: unknown): Uint8Array {
  const detail = { type_url: `${URL_PREFIX}${type.name}`, value: type.encode(value) };
  // The message is in `grpc-message` too, which is what SDKs show: here a beginning of it is enough.
  return STATUS.encode({
    code: GRPC_STATUS[error.code],
    message: error.message.slice(0, 500),
    details: [detail],
  });
}

function shortened(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const whole = value['failure'] as Failure | undefined;
  if (whole === undefined) return {};
  return { ...value, failure: { message: whole.message?.slice(0, 1_000), source: whole.source } };
}

function failure(
  code: ErrorCode,
  message: string,
  [type, value]: readonly [string, Readonly<Record<string, unknown>>],
): AtollError {
  return new AtollError(code, message, { detail: { type, value } });
}
