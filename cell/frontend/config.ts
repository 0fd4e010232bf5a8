/** Settings of the frontend, with their defaults. */
export type FrontendConfig = {
  /** What GetSystemInfo calls us: a version that clients compare. */
  readonly serverVersion: string;
  /** A poll that found no task by then is answered empty (BEHAVIOURS 21). 1 s … 5 min. */
  readonly pollMs: number;
  /** A wait for new history events is answered with an empty page by then. 1 … 60 s. */
  readonly historyWaitMs: number;
  /** A long poll is answered this long before the client's own deadline, so that it is an answer and no error. */
  readonly answerEarlyMs: number;
  /** Calls that wait for nothing but us end by then. */
  readonly callMs: number;
  /** A query whose caller set no deadline ends by then. */
  readonly queryMs: number;
  /** History bytes in one page or poll response; a single larger event goes alone. Below 4 MB, gRPC's usual limit. */
  readonly historyPageBytes: number;
  /** Hand out a task with the answer before it, to callers that ask for that: eager starts, next tasks (D7). */
  readonly startsInline: boolean;
  /** Executions in one page of a list. */
  readonly maxListPageSize: number;
};

export const defaultFrontendConfig: FrontendConfig = {
  serverVersion: '1.29.0-atoll',
  pollMs: 60_000,
  historyWaitMs: 20_000,
  answerEarlyMs: 500,
  callMs: 10_000,
  queryMs: 20_000,
  historyPageBytes: 2 * 1024 * 1024,
  startsInline: true,
  maxListPageSize: 1_000,
};
