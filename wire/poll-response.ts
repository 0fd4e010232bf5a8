/**
 * Answers that carry history: everything but the history is encoded, then the stored event bytes follow as the
 * history field, neither decoded nor copied. Fields of a protobuf message may come in any order, so the message is whole.
 * Place: the frontend's poll and history RPCs; the chunks go to RpcServer as they are.
 */
import type { temporal } from '@temporalio/proto';
import { messageType } from './proto.ts';
import type { Plain } from './plain.ts';

type PollWorkflowTask = Plain<temporal.api.workflowservice.v1.IPollWorkflowTaskQueueResponse>;
type GetHistory = Plain<temporal.api.workflowservice.v1.IGetWorkflowExecutionHistoryResponse>;
type CompletedTask = Plain<temporal.api.workflowservice.v1.IRespondWorkflowTaskCompletedResponse>;
type StartWorkflow = Plain<temporal.api.workflowservice.v1.IStartWorkflowExecutionResponse>;

/** A poll response less its history. */
export type PollWorkflowTaskFields = Omit<PollWorkflowTask, 'history'>;
/** Event bytes in order: entries of `History.events` as event-codec.ts makes them. */
export type HistoryChunks = readonly Uint8Array[];

const SERVICE = 'temporal.api.workflowservice.v1';
const POLL = messageType<PollWorkflowTask>(`${SERVICE}.PollWorkflowTaskQueueResponse`);
const HISTORY = messageType<GetHistory>(`${SERVICE}.GetWorkflowExecutionHistoryResponse`);
const COMPLETED = messageType<CompletedTask>(`${SERVICE}.RespondWorkflowTaskCompletedResponse`);
const START = messageType<StartWorkflow>(`${SERVICE}.StartWorkflowExecutionResponse`);

/** Field numbers of the contract; poll-response.test.ts holds them against it. */
export const POLL_HISTORY_FIELD = 8;
export const GET_HISTORY_FIELD = 1;
export const COMPLETED_TASK_FIELD = 1;
export const EAGER_TASK_FIELD = 2;

/** PollWorkflowTaskQueueResponse. */
export function pollWorkflowTaskResponse(
  fields: PollWorkflowTaskFields,
  history: HistoryChunks,
): readonly Uint8Array[] {
  return [POLL.encode(fields), ...embed(POLL_HISTORY_FIELD, history)];
}

/** GetWorkflowExecutionHistoryResponse. */
export function getHistoryResponse(
  fields: Omit<GetHistory, 'history'>,
  history: HistoryChunks,
): readonly Uint8Array[] {
  return [HISTORY.encode(fields), ...embed(GET_HISTORY_FIELD, history)];
}

/** RespondWorkflowTaskCompletedResponse with the next workflow task inline (D7): `task` from pollWorkflowTaskResponse. */
export function completedWithTaskResponse(
  fields: Omit<CompletedTask, 'workflowTask'>,
  task: readonly Uint8Array[],
): readonly Uint8Array[] {
  return [COMPLETED.encode(fields), ...embed(COMPLETED_TASK_FIELD, task)];
}

/** StartWorkflowExecutionResponse with its first workflow task inline (D7). */
export function startWithTaskResponse(
  fields: Omit<StartWorkflow, 'eagerWorkflowTask'>,
  task: readonly Uint8Array[],
): readonly Uint8Array[] {
  return [START.encode(fields), ...embed(EAGER_TASK_FIELD, task)];
}

/** The chunks as one length-delimited field. */
function embed(field: number, chunks: readonly Uint8Array[]): readonly Uint8Array[] {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  return [Uint8Array.from([...varint((field << 3) | 2), ...varint(length)]), ...chunks];
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return bytes;
}
