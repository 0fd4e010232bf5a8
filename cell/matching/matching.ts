/**
 * The port to matching (D6): pairs pollers with tasks that shard owners offer, in memory. It stores nothing that
 * cannot be offered again: a task is durable in its execution until it is started.
 *
 * Promises
 *  1. A task that was accepted leaves exactly once: to one poller, to `takeBack`, or with the process.
 *  2. A poll whose client is gone (its signal aborted) never takes a task (BEHAVIOURS 21).
 *  3. Every queue is bounded; `full` tells the owner to hold, `onRoom` tells it to offer again (P11).
 */

export type TaskKind = 'workflow-task' | 'activity-task' | 'query-task';

/** Queries ride on workflow queues. A sticky queue is a workflow queue with a name of its own. */
export type QueueKey = {
  readonly namespaceId: string;
  readonly kind: 'workflow' | 'activity';
  readonly name: string;
};

export type OfferedTask = {
  readonly kind: TaskKind;
  readonly queue: QueueKey;
  readonly workflowId: string;
  readonly runId: string;
  /** 0 for a query. */
  readonly scheduledEventId: number;
  readonly attempt: number;
  /** For the backlog's age, ms since 1970. */
  readonly scheduledAt: number;
  /** Only of a query task. */
  readonly queryId?: string | undefined;
  /** Only of a task that was or may have been started for a poll that never heard of it: the id of that start. */
  readonly requestId?: string | undefined;
};

export type Poller = { readonly identity: string; readonly signal: AbortSignal };

/** What a poll gets: a task to start, or one that was started for it already (`reserve`). */
export type HandedTask<Started> = OfferedTask & { readonly started?: Started | undefined };

/** A waiting poll, taken out of its line: it takes nothing else meanwhile. The first of the two calls decides. */
export interface Reservation<Started> {
  readonly identity: string;
  /** The poll gets this task. False: it does not, since it has ended or was released. */
  hand(task: HandedTask<Started>): boolean;
  /** The poll waits on, unless it has ended. */
  release(): void;
}

/** @typeParam Started what `reserve` hands with a task; nothing to matching itself */
export interface Matching<Started = unknown> {
  /** Hands the task to a waiting poller at once or keeps it in its queue; `full` = hold it and offer again at `onRoom`. */
  offer(task: OfferedTask): 'accepted' | 'full';

  /** Returns a task whose start did not happen (the poller vanished, the shard was away): first in line again, never refused. */
  giveBack(task: OfferedTask): void;

  /** Waits for a task until the signal aborts (then undefined). */
  poll(queue: QueueKey, poller: Poller): Promise<HandedTask<Started> | undefined>;
  /**
   * The longest waiting poll, for a task that is about to be scheduled and started in one; undefined if none waits. Where
   * its queue is forgotten or its namespace released, it ends once it is decided about.
   */
  reserve(queue: QueueKey): Reservation<Started> | undefined;

  /** A poller waits on this queue or did within the last 10 s, and no goodbye came since (BEHAVIOURS 5). */
  isPolled(queue: QueueKey): boolean;

  /** The worker of a sticky queue said goodbye: its polls end empty, its tasks come back to be offered elsewhere. */
  forget(queue: QueueKey): readonly OfferedTask[];

  /** The namespace is not served here any more: its polls end empty, its tasks are dropped (D5 makes them again). */
  release(namespaceId: string): void;

  /** Number of waiting tasks, and age of the oldest in ms. */
  backlog(queue: QueueKey): { readonly tasks: number; readonly oldestAgeMs: number };

  /** Pollers seen within the last five minutes, for describe. */
  pollers(queue: QueueKey): readonly { readonly identity: string; readonly lastSeenAt: number }[];

  /** Calls back when a queue that said `full` has room again. Returns the unsubscribe function. */
  onRoom(listener: (queue: QueueKey) => void): () => void;
}
