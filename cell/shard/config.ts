/** Bounds and paces of the shards of a host. Units are in the names; every bound is named in what it refuses (P11). */
import { invariant } from '../../kernel/invariant.ts';

export type ShardConfig = {
  /** Deadline of one append statement; the server's statement_timeout is shorter (PROTOCOLS 1). */
  readonly appendDeadlineMs: number;
  /** A shard whose append stays unknown for so long drops its memory and takes over from itself. */
  readonly appendGiveUpMs: number;
  /** Deadline of any other statement. */
  readonly statementDeadlineMs: number;
  /** Largest sum of records in one multi-row append; a larger row goes alone (D2). */
  readonly appendStatementBytes: number;
  /** Transitions gathered behind an append in flight before callers are refused. */
  readonly gatherLimit: number;
  /** Records above the checkpoint before callers wait (D2). */
  readonly tailRecordLimit: number;
  /** Callers that wait for room in the tail before the next is refused. */
  readonly tailWaiterLimit: number;
  /** Pause between checkpoints while there is something to write. */
  readonly checkpointIntervalMs: number;
  /** Shards, view rows and bytes of them in one checkpoint statement; what one shard has beyond goes alone. */
  readonly checkpointStatementShards: number;
  readonly checkpointStatementRows: number;
  readonly checkpointStatementBytes: number;
  /** Runs kept in memory per shard; those that a checkpoint has not covered yet come on top. */
  readonly cachedRunLimit: number;
  /** Bytes of recent history kept with a cached run, to serve sticky workers without a read. */
  readonly recentHistoryBytes: number;
  /** Timers held in memory per shard; later ones are read when their time nears. */
  readonly timerWindow: number;
  /** Tasks held per shard while their queue is full; the rest is read again when there is room. */
  readonly heldTaskLimit: number;
  /** Pause that lets index writes of short runs melt into one. */
  readonly indexDelayMs: number;
  /** Rows waiting to be indexed per host. */
  readonly indexQueueLimit: number;
  /** Runs per scanner page, and the pause between pages: >= 10,000 runs a minute (PROTOCOLS 5). */
  readonly scanPageRuns: number;
  readonly scanPauseMs: number;
  /** A changed shard is scanned again after this time. */
  readonly scanAgainMs: number;
  /** Queries waiting per run. */
  readonly queryLimit: number;
  /** A query that nobody answers fails after this time at the latest. */
  readonly queryTimeoutMs: number;
  /** Remembered starts, updates and option changes per workflow id (D15). */
  readonly ledgerStartLimit: number;
  /** Remembered signals and cancels per workflow id; the oldest leaves first (D15). */
  readonly ledgerSignalLimit: number;
  readonly ledgerKeepMs: number;
};

export const defaultShardConfig: ShardConfig = {
  appendDeadlineMs: 4_000,
  appendGiveUpMs: 10_000,
  statementDeadlineMs: 5_000,
  appendStatementBytes: 1 << 20,
  gatherLimit: 5_000,
  tailRecordLimit: 2_000,
  tailWaiterLimit: 5_000,
  checkpointIntervalMs: 1_000,
  checkpointStatementShards: 64,
  checkpointStatementRows: 20_000,
  checkpointStatementBytes: 8 << 20,
  cachedRunLimit: 5_000,
  recentHistoryBytes: 64 * 1024,
  timerWindow: 20_000,
  heldTaskLimit: 20_000,
  indexDelayMs: 250,
  indexQueueLimit: 50_000,
  scanPageRuns: 200,
  scanPauseMs: 500,
  scanAgainMs: 600_000,
  queryLimit: 1_000,
  queryTimeoutMs: 60_000,
  ledgerStartLimit: 2_000,
  ledgerSignalLimit: 10_000,
  ledgerKeepMs: 24 * 3_600_000,
};

/** The defaults with `changes`, relations asserted. */
export function shardConfig(changes: Partial<ShardConfig> = {}): ShardConfig {
  const config = { ...defaultShardConfig, ...changes };
  for (const [name, value] of Object.entries(config)) {
    invariant(Number.isFinite(value) && value >= 1, `shard config ${name} is ${value}`);
  }
  invariant(
    config.appendDeadlineMs < config.appendGiveUpMs,
    'appendDeadlineMs must be below appendGiveUpMs: an unknown append is sent again at least once',
  );
  return config;
}
