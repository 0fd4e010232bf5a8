/** Bounds of matching (P11), with their defaults: all are counts or milliseconds, per cell host. */
export type MatchingConfig = {
  /** Waiting tasks a queue; beyond it owners hold (`full`). At least 2. */
  readonly maxTasksPerQueue: number;
  /** Waiting polls a queue; beyond it a poll is refused. */
  readonly maxPollersPerQueue: number;
  /** Queues known at a time, idle ones included. */
  readonly maxQueues: number;
  /** Identities that `pollers` remembers a queue; the longest unseen leaves first. */
  readonly maxIdentitiesPerQueue: number;
  /** A queue counts as polled for this long after its last poll ended (BEHAVIOURS 5). */
  readonly polledForMs: number;
  /** Identities are shown, and an empty queue is kept, for this long after the last poll. */
  readonly rememberForMs: number;
};

export const defaultMatchingConfig: MatchingConfig = {
  maxTasksPerQueue: 10_000,
  maxPollersPerQueue: 5_000,
  maxQueues: 100_000,
  maxIdentitiesPerQueue: 1_000,
  polledForMs: 10_000,
  rememberForMs: 5 * 60_000,
};
