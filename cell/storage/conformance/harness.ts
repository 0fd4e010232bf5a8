/** What the conformance suite needs of an adapter, beside the ports: the world around the store. */
import type { LogRow, ShardId, ShardLog } from '../shard-log.ts';
import type { ShardViews } from '../views.ts';

/** One process's store. */
export type Store = {
  readonly log: ShardLog;
  readonly views: ShardViews;
  /** Gives the connections up; what was sent may still be carried out. The store reconnects when it is next used. */
  breakConnections(): Promise<void>;
};

/** Somebody's open transaction. */
export type OpenTransaction = { commit(): Promise<void>; rollback(): Promise<void> };

export type StorageHarness = {
  /** Each row of an append is a statement of its own: whatever becomes of it, the others are not touched. */
  readonly appendsApart: boolean;
  /** Another process on the same, freshly provisioned data (shards 0 … 7). */
  connect(): Promise<Store>;
  /** Inserts a log row in a transaction that stays open. */
  hold(row: LogRow): Promise<OpenTransaction>;
  /** Resolves once a statement waits for a held key. */
  untilBlocked(): Promise<void>;
  /** A statement of long ago lands: inserts the row unless its key is taken. */
  landLate(row: LogRow): Promise<void>;
  /** A standby without the newest statement, which appended this row, becomes primary. */
  promoteWithout(row: LogRow): Promise<void>;
  /** All log rows of the shard, strays included, by seq. */
  rows(shard: ShardId): Promise<readonly LogRow[]>;
  close(): Promise<void>;
};

export type Isolation = 'read committed' | 'repeatable read';

/** Makes a fresh, empty database. */
export type MakeHarness = (isolation: Isolation) => Promise<StorageHarness>;
