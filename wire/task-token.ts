/**
 * What our tokens say: tasks handed to workers and positions in paged answers, each of one kind.
 * Place: sealed where a task or a page goes out, opened by the RPC that gets it back.
 *
 * Invariants
 *  1. Every token names its namespace id, and who opens one checks it (`openToken` demands the caller's): the body
 *     of a request never decides on a namespace alone.
 *  2. A kind's number and field order are fixed; fields are only added at the end (D17).
 */
import { AtollError } from '../kernel/errors.ts';
import { decodeCbor, encodeCbor } from './cbor.ts';
import type { TokenKeyRing } from './signed-token.ts';

/** A workflow task that a worker holds: what it started from (D7, PROTOCOLS 6). */
export type WorkflowTaskToken = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly epoch: number;
  /** The poll's request id. */
  readonly requestId: string;
  readonly historyBytes: number;
  readonly suggestContinueAsNew: boolean;
  readonly identity?: string | undefined;
  /** The epoch of the last event that the worker was shown: which branch it saw. Absent: of an older release. */
  readonly branchEpoch?: number | undefined;
};

/** An attempt of an activity that a worker holds. */
export type ActivityTaskToken = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly scheduledEventId: number;
  readonly attempt: number;
  readonly activityId: string;
  readonly epoch: number;
  /** The epoch of the event that scheduled it: in which branch. Absent: of an older release. */
  readonly scheduledEpoch?: number | undefined;
};

/** A query that a worker answers apart from a workflow task. */
export type QueryTaskToken = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly queryId: string;
  readonly taskQueue: string;
};

/** Where the next page of a history begins. */
export type HistoryPageToken = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly nextEventId: number;
  /** The last event of this reading; absent = to the end of the history, whenever that is. */
  readonly lastEventId?: number | undefined;
  /** Which branch the ids belong to: the epoch of the event `lastEventId`; where that is absent, of the one before the next. */
  readonly epoch?: number | undefined;
  /** Of the pages of a workflow task: its token, whose scheduled and started events may have to be shown at the end. */
  readonly taskToken?: Uint8Array | undefined;
  /** Encoded events to show after `lastEventId`: what a poller sees though history does not hold it. */
  readonly tail?: Uint8Array | undefined;
};

/** Where the next page of a list begins. */
export type ListPageToken = {
  readonly namespaceId: string;
  /** The list's filter: a token continues that list only. */
  readonly query: string;
  /** Sort key of the last row handed out. */
  readonly after: readonly (string | number)[];
};

type Values = readonly unknown[];

/** How one kind of token is made. */
export type TokenKind<T> = {
  readonly number: number;
  /** Its name in messages to people. */
  readonly name: string;
  readonly fields: readonly (keyof T & string)[];
};

export const WORKFLOW_TASK_TOKEN: TokenKind<WorkflowTaskToken> = {
  number: 1,
  name: 'workflow task token',
  fields: [
    ...(['namespaceId', 'workflowId', 'runId', 'scheduledEventId', 'startedEventId'] as const),
    ...(['attempt', 'startedAt', 'epoch', 'requestId', 'historyBytes'] as const),
    ...(['suggestContinueAsNew', 'identity', 'branchEpoch'] as const),
  ],
};
export const ACTIVITY_TASK_TOKEN: TokenKind<ActivityTaskToken> = {
  number: 2,
  name: 'activity task token',
  fields: [
    'namespaceId',
    'workflowId',
    'runId',
    'scheduledEventId',
    'attempt',
    'activityId',
    'epoch',
    'scheduledEpoch',
  ],
};
export const QUERY_TASK_TOKEN: TokenKind<QueryTaskToken> = {
  number: 3,
  name: 'query task token',
  fields: ['namespaceId', 'workflowId', 'runId', 'queryId', 'taskQueue'],
};
export const HISTORY_PAGE_TOKEN: TokenKind<HistoryPageToken> = {
  number: 4,
  name: 'next page token of a history',
  fields: [
    'namespaceId',
    'workflowId',
    'runId',
    'nextEventId',
    'lastEventId',
    'epoch',
    'taskToken',
    'tail',
  ],
};
export const LIST_PAGE_TOKEN: TokenKind<ListPageToken> = {
  number: 5,
  name: 'next page token of a list',
  fields: ['namespaceId', 'query', 'after'],
};

/** The token's bytes, signed. */
export function sealToken<T>(ring: TokenKeyRing, kind: TokenKind<T>, token: T): Uint8Array {
  return ring.seal(kind.number, encodeCbor(kind.fields.map((field) => token[field] ?? null)));
}

/**
 * What a token says, for a caller in that namespace.
 * @throws AtollError `invalid-argument` for a token that is empty, not ours, of another kind or another namespace
 */
export function openToken<T extends { readonly namespaceId: string }>(
  ring: TokenKeyRing,
  kind: TokenKind<T>,
  options: { readonly bytes: Uint8Array | undefined; readonly namespaceId: string },
): T {
  const values = decodeCbor(ring.open(kind.number, options.bytes, kind.name)) as Values;
  const entries = kind.fields.map((field, i) => [field, values[i] ?? undefined] as const);
  const token = Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as T;
  if (token.namespaceId !== options.namespaceId) {
    throw new AtollError(
      'invalid-argument',
      `the ${kind.name} belongs to another namespace than the request`,
    );
  }
  return token;
}
