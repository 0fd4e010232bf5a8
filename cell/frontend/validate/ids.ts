/** Names and ids of a request: there, not too long, storable. The message names the field as the contract does. */
import { AtollError } from '../../../kernel/errors.ts';
import type { Plain } from '../../../wire/plain.ts';
import type { temporal } from '@temporalio/proto';

/** Characters (UTF-16 units) of any id or name; Temporal's own limit. */
export const MAX_ID_LENGTH = 1_000;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function badRequest(message: string): AtollError {
  return new AtollError('invalid-argument', message);
}

/** An id that may be absent: '' then. @throws AtollError `invalid-argument` if it is too long or cannot be stored */
export function optionalId(field: string, value: string | undefined): string {
  const id = value ?? '';
  if (id.length > MAX_ID_LENGTH) {
    throw badRequest(`${field} has ${id.length} characters; at most ${MAX_ID_LENGTH} are allowed.`);
  }
  if (id.includes('\0'))
    throw badRequest(`${field} holds a NUL character, which cannot be stored.`);
  return id;
}

/** As `optionalId`, and not empty. */
export function requiredId(field: string, value: string | undefined): string {
  const id = optionalId(field, value);
  if (id === '') throw badRequest(`${field} is not set on request.`);
  return id;
}

/** Run ids are UUIDs, lower case; absent = the current run. */
export function optionalRunId(field: string, value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (!UUID.test(value)) throw badRequest(`${field} is not a valid run id: it must be a UUID.`);
  return value.toLowerCase();
}

type Execution = Plain<temporal.api.common.v1.IWorkflowExecution>;

/** The execution that a request names, in a namespace. */
export function targetOf(
  namespaceId: string,
  execution: Execution | undefined,
): { namespaceId: string; workflowId: string; runId?: string | undefined } {
  if (execution === undefined) throw badRequest('Execution is not set on request.');
  return {
    namespaceId,
    workflowId: requiredId('WorkflowId', execution.workflowId),
    runId: optionalRunId('RunId', execution.runId),
  };
}
