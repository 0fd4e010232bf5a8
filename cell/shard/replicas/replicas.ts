/**
 * The face of the shards to replication (D9, PROTOCOLS 7-10): what lanes feed on, and what they put into a replica.
 * Every change goes through the shard's own log; every answer keeps output commit and the read barrier.
 */
import type { CurrentRun, LedgerEntry } from '../../history/execution.ts';
import type { RunState } from '../../history/state.ts';
import type { Transition } from '../../history/transition.ts';
import type { Seq, ShardId } from '../../storage/shard-log.ts';
import type { RunRef } from '../engine.ts';

/** A durable transition as a lane carries it: its events as the bytes that its source stored. */
export type ReplicatedStep = {
  readonly transition: Transition;
  readonly events: Uint8Array;
};

/** The whole of a run, to replace what a replica has (gap, conflict, copy, repair). */
export type RunImage = {
  readonly state: RunState;
  /** All its events, as stored, from event 1. */
  readonly events: readonly Uint8Array[];
  /** The workflow id's pointer and ledger as they are at the source. */
  readonly current: CurrentRun;
  readonly ledger: readonly LedgerEntry[];
  /**
   * What a comparison accused: the image takes its place, whatever its branch or number, if it is what is stored. Absent:
   * it takes its place by lineage.
   */
  readonly replaces?: RunDigest | 'nothing' | undefined;
};

export type ApplyOutcome =
  /** Durable here now, or before. */
  | { readonly kind: 'applied' }
  | { readonly kind: 'known' }
  /** Transitions between are missing here: send the run's image. `have` = the last number here, 0 = none. */
  | { readonly kind: 'gap'; readonly have: number }
  /** This replica's branch lost: it needs the image of the winning one. */
  | { readonly kind: 'diverged' }
  /** What was sent lost against this cell's branch: its inputs were applied again here, and it was reported. */
  | { readonly kind: 'lost' }
  /** It lost, too, but this cell does not act: its inputs are still to be applied by the one that does. */
  | { readonly kind: 'undecided' }
  /** Not now, for this reason, which passes by itself: nothing is known of it, it is to be sent again, and no other is held up. */
  | { readonly kind: 'later'; readonly reason: string }
  /** Cannot be applied: the run is parked here and the transition is to be dead-lettered, with this reason. */
  | { readonly kind: 'refused'; readonly reason: string };

/** In the place of a hash: what it would be of cannot be read. */
export const UNREADABLE = 'unreadable';

/** In the place of every hash: memory has the run, and the store has lost rows of it. */
export const UNSTORED = 'unstored';

/** What the digest of an execution is made of (PROTOCOLS 10), at a transition number. */
export type RunDigest = RunRef & {
  readonly transition: number;
  readonly epoch: number;
  /** Hash chain over the encoded events. */
  readonly history: string;
  /** Hash of the canonical patch state. */
  readonly state: string;
  /** Hash of ledger and current-run pointer. */
  readonly execution: string;
};

/** What an owner tells the lanes, in the order of the log. Called synchronously; must not throw. */
export interface LaneFeed {
  /** A shard is owned; what lies above `after` follows by `committed` (rows of the tail first, in order). */
  opened(
    shard: ShardId,
    position: { readonly saved: Uint8Array | undefined; readonly end: Seq },
  ): void;
  committed(shard: ShardId, seq: Seq, steps: readonly ReplicatedStep[]): void;
  closed(shard: ShardId): void;
  /** The log may be deleted up to here: at most `upTo`, less while a lane needs it (PROTOCOLS 3). */
  releasable(shard: ShardId, upTo: Seq): Seq;
  /** Whether what a run had in a shard's row of that seq, and before, is brought to the cell that acts. */
  delivery(
    shard: ShardId,
    upTo: { readonly namespaceId: string; readonly runId: string; readonly seq: Seq },
  ): Delivery;
  /** What must be remembered of the lanes' positions; saved with the next checkpoint, given back to `opened`. */
  position(shard: ShardId): Uint8Array | undefined;
}

/**
 * `done`: acknowledged. `steps`: they are still to be sent as they were decided. `runs`: what is sent are runs as they are
 * when they are sent, so that a branch which is replaced before then is never seen there.
 */
export type Delivery = 'done' | 'steps' | 'runs';

/** Feeds nothing: a host without replication. */
export const noLanes: LaneFeed = {
  opened() {},
  committed() {},
  closed() {},
  releasable: (_, upTo) => upTo,
  delivery: () => 'done',
  position: () => undefined,
};

export type AskRuns = {
  readonly shard: ShardId;
  readonly namespaceId: string;
  readonly afterSeq: Seq;
  readonly held?: boolean | undefined;
};

/** A page of a shard's runs. */
export type RunsOfShard = {
  readonly runs: readonly RunRef[];
  readonly next?: string | undefined;
  readonly asOf: Seq;
};

export interface Replicas {
  readonly shardCount: number;
  /** Applies steps, each run's in their order; resolves when all that the outcomes rest on is durable. */
  apply(steps: readonly ReplicatedStep[], signal: AbortSignal): Promise<readonly ApplyOutcome[]>;
  /**
   * Replaces the run by the image, unless what is here wins against it or ends where it ends. With `repair` the latter is
   * read from the store and held against the image, and replaced where it differs.
   */
  adopt(
    image: RunImage,
    options: { readonly repair: boolean },
    signal: AbortSignal,
  ): Promise<ApplyOutcome>;
  /**
   * Takes a run away that the acting cell does not have, if it is what was accused. Errors: `unavailable` while that cell
   * is still to hear of it.
   */
  remove(run: RunDigest, signal: AbortSignal): Promise<ApplyOutcome>;
  /** The run as it is, proven current. Errors: `not-found`. */
  image(run: RunRef, signal: AbortSignal): Promise<RunImage>;
  /**
   * Runs of a namespace in a shard, open and closed, that changed after `afterSeq`; paged, some perhaps twice. What changes
   * later than `asOf`, the shard's last row when the page was begun, may be missing. With `held`, all that memory holds comes
   * with the first page, whether the store has it or not.
   */
  runsOf(
    ask: AskRuns,
    page: { readonly after?: string | undefined; readonly limit: number },
    signal: AbortSignal,
  ): Promise<RunsOfShard>;
  /** Those of these runs that are not here. */
  missing(runs: readonly RunRef[], signal: AbortSignal): Promise<readonly RunRef[]>;
  /** Digests of those runs as they are now; undefined where there is none. `recompute` reads all that is stored. */
  digests(
    runs: readonly RunRef[],
    options: { readonly recompute: boolean },
    signal: AbortSignal,
  ): Promise<readonly (RunDigest | undefined)[]>;
  /** A page of the log's rows after a seq, as steps by row: for a lane that is behind what memory holds. Empty: no more. */
  logAfter(
    shard: ShardId,
    page: { readonly after: Seq; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly { readonly seq: Seq; readonly steps: readonly ReplicatedStep[] }[]>;
  /** Closes a namespace in every shard (PROTOCOLS 8.1); the seqs of the gates, durable. */
  gate(
    ask: { readonly namespaceId: string; readonly moveId: string; readonly revision: number },
    signal: AbortSignal,
  ): Promise<readonly { readonly shard: ShardId; readonly seq: Seq }[]>;
  /** The map changed: every shard opens, stands by or becomes active as it says. */
  observe(namespaceId: string, signal: AbortSignal): Promise<void>;
}
