/**
 * Reads tasks without decoding them: tokens, ids, and the type and time of each event. A worker that decodes whole
 * histories would be what the figures show.
 *
 * Place: answers of polls in the thin worker.
 *
 * Invariants
 *  1. Nothing is copied: tokens and times are views onto the answer.
 *  2. Field numbers come from the contract's descriptors, none is written here.
 */
import { fieldsOf } from '../../wire/proto.ts';

const SERVICE = 'temporal.api.workflowservice.v1';
const WORKFLOW_TASK = numbersOf(`${SERVICE}.PollWorkflowTaskQueueResponse`, [
  'taskToken',
  'workflowExecution',
  'workflowType',
  'history',
  'nextPageToken',
]);
const ACTIVITY_TASK = numbersOf(`${SERVICE}.PollActivityTaskQueueResponse`, [
  'taskToken',
  'workflowExecution',
  'scheduledTime',
  'startedTime',
]);
const RESPONDED = numbersOf(`${SERVICE}.RespondWorkflowTaskCompletedResponse`, ['activityTasks']);
const EVENT = numbersOf('temporal.api.history.v1.HistoryEvent', ['eventType', 'eventTime']);
const EXECUTION = numbersOf('temporal.api.common.v1.WorkflowExecution', ['workflowId', 'runId']);
const TYPE_NAME = numbersOf('temporal.api.common.v1.WorkflowType', ['name']).name;
const TIMESTAMP = numbersOf('google.protobuf.Timestamp', ['seconds', 'nanos']);

/** An event as far as the worker looks: its type, and the bytes of its time. */
export type ScannedEvent = { readonly type: number; readonly time: Buffer | undefined };

export type WorkflowTask = {
  readonly token: Buffer;
  readonly workflowId: string;
  readonly runId: string;
  /** The workflow type's name. */
  readonly type: string;
  readonly events: readonly ScannedEvent[];
  /** There are more pages of history. */
  readonly more: boolean;
};

export type ActivityTask = {
  readonly token: Buffer;
  readonly runId: string;
  /** Milliseconds since 1970 on the server's clock. */
  readonly scheduledAt: number;
  readonly startedAt: number;
};

/** A workflow task; undefined for the answer of a poll that found none. */
export function scanWorkflowTask(message: Buffer): WorkflowTask | undefined {
  let token: Buffer | undefined;
  let execution = { workflowId: '', runId: '' };
  let type = '';
  let more = false;
  const events: ScannedEvent[] = [];
  walk(message, (field, value) => {
    if (typeof value === 'number') return;
    if (field === WORKFLOW_TASK.taskToken) token = value;
    else if (field === WORKFLOW_TASK.workflowExecution) execution = scanExecution(value);
    else if (field === WORKFLOW_TASK.workflowType) type = scanText(value, TYPE_NAME);
    else if (field === WORKFLOW_TASK.nextPageToken) more = value.length > 0;
    else if (field === WORKFLOW_TASK.history) {
      walk(value, (_, event) => {
        if (typeof event !== 'number') events.push(scanEvent(event));
      });
    }
  });
  return token?.length ? { token, ...execution, type, events, more } : undefined;
}

/** An activity task; undefined for the answer of a poll that found none. */
export function scanActivityTask(message: Buffer): ActivityTask | undefined {
  let token: Buffer | undefined;
  let runId = '';
  let scheduledAt = Number.NaN;
  let startedAt = Number.NaN;
  walk(message, (field, value) => {
    if (typeof value === 'number') return;
    if (field === ACTIVITY_TASK.taskToken) token = value;
    else if (field === ACTIVITY_TASK.workflowExecution) ({ runId } = scanExecution(value));
    else if (field === ACTIVITY_TASK.scheduledTime) scheduledAt = timestampMs(value);
    else if (field === ACTIVITY_TASK.startedTime) startedAt = timestampMs(value);
  });
  return token?.length ? { token, runId, scheduledAt, startedAt } : undefined;
}

/** The eager activity tasks inside the answer to a completed workflow task. */
export function scanEagerTasks(message: Buffer): readonly ActivityTask[] {
  const tasks: ActivityTask[] = [];
  walk(message, (field, value) => {
    if (typeof value === 'number' || field !== RESPONDED.activityTasks) return;
    const task = scanActivityTask(value);
    if (task !== undefined) tasks.push(task);
  });
  return tasks;
}

/** Milliseconds since 1970 of a Timestamp's bytes. */
export function timestampMs(bytes: Buffer): number {
  let seconds = 0;
  let nanos = 0;
  walk(bytes, (field, value) => {
    if (typeof value !== 'number') return;
    if (field === TIMESTAMP.seconds) seconds = value;
    else if (field === TIMESTAMP.nanos) nanos = value;
  });
  return seconds * 1000 + nanos / 1e6;
}

function scanEvent(message: Buffer): ScannedEvent {
  let type = 0;
  let time: Buffer | undefined;
  walk(message, (field, value) => {
    if (typeof value === 'number') {
      if (field === EVENT.eventType) type = value;
    } else if (field === EVENT.eventTime) time = value;
  });
  return { type, time };
}

function scanExecution(message: Buffer): { workflowId: string; runId: string } {
  return {
    workflowId: scanText(message, EXECUTION.workflowId),
    runId: scanText(message, EXECUTION.runId),
  };
}

function scanText(message: Buffer, wanted: number): string {
  let text = '';
  walk(message, (field, value) => {
    if (field === wanted && typeof value !== 'number') text = value.toString();
  });
  return text;
}

/** Visits the top-level fields of a message: numbers for varints, views for everything with a length. */
function walk(bytes: Buffer, visit: (field: number, value: number | Buffer) => void): void {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error('a message ends inside a number');
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    const kind = tag % 8;
    if (kind === 0) visit(field, varint());
    else if (kind === 2) {
      const length = varint();
      visit(field, bytes.subarray(at, at + length));
      at += length;
    } else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else throw new Error(`a field of wire type ${kind}`);
  }
}

/** Numbers of these fields of a message; asking for one that it lacks is a mistake of this file. */
function numbersOf<const Name extends string>(
  message: string,
  names: readonly Name[],
): Readonly<Record<Name, number>> {
  const fields = fieldsOf(message);
  const entries = names.map((name) => {
    const id = fields.find((field) => field.name === name)?.id;
    if (id === undefined) throw new Error(`${message} has no field ${name}`);
    return [name, id];
  });
  return Object.fromEntries(entries) as Record<Name, number>;
}
