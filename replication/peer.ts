/**
 * The port to another cell's half of replication: what a lane, a copy and a comparison ask of it. `rpc/peer-client.ts`
 * speaks it over gRPC; tests join two receivers directly.
 *
 * Promises
 *  1. An outcome counts: `applied` and `known` mean durable there. A call that rejects may have been carried out; every
 *     call may be repeated.
 *  2. The other cell serves only namespaces that its map says both cells keep.
 *
 * Errors: `unavailable` and `deadline-exceeded` pass by themselves; `failed-precondition` when the other cell's map does
 * not know of the replica (yet); `permission-denied` for another namespace's data; `invalid-argument` for unreadable bytes.
 */
import type { RunRef } from '../cell/shard/engine.ts';
import type { ApplyOutcome, RunDigest } from '../cell/shard/replicas/replicas.ts';

/** What the source says of a lane beside its data: the target's estimate of a loss is made of it. */
export type LaneBacklog = {
  readonly namespaceId: string;
  /**
   * Transitions that the source holds and that are not acknowledged, those of this call not counted; rows of its log that it
   * has still to read for the lane; and, while it copies, at least one and about as many as there are runs left.
   */
  readonly pending: number;
  /** Everything that changed before has been acknowledged; absent when nothing is pending, or no such time is known. */
  readonly oldestAt?: number | undefined;
  /** The lane copies: it does not know what is missing. */
  readonly copy?: CopyProgress | undefined;
};

export type CopyProgress = {
  /** Runs that were sent or found equal, and an estimate of all. */
  readonly copied: number;
  readonly total: number;
  /** The target has had everything once; else runs may be missing there altogether. */
  readonly seeded: boolean;
};

export type StepPush = LaneBacklog & { readonly steps: readonly Uint8Array[] };
export type ImagePush = {
  readonly namespaceId: string;
  readonly images: readonly Uint8Array[];
  /** What ends where the image ends is read from the store and replaced where it differs. */
  readonly repair: boolean;
};

export type RunsPage = {
  readonly runs: readonly RunRef[];
  readonly next?: string | undefined;
  /** Shards that the other cell has: each is paged through on its own. */
  readonly shards: number;
};

export interface ReplicaPeer {
  /** One outcome a step, in order. */
  pushSteps(push: StepPush, signal: AbortSignal): Promise<readonly ApplyOutcome[]>;
  /** One outcome an image, in order. */
  pushImages(push: ImagePush, signal: AbortSignal): Promise<readonly ApplyOutcome[]>;
  /** The digests that the other cell has of these runs, in order; undefined where it has none. */
  digests(
    ask: {
      readonly namespaceId: string;
      readonly runs: readonly RunRef[];
      readonly recompute: boolean;
    },
    signal: AbortSignal,
  ): Promise<readonly (RunDigest | undefined)[]>;
  /** Takes runs away that this cell, which acts, does not have. One outcome a run, in order. */
  remove(
    ask: { readonly namespaceId: string; readonly runs: readonly RunDigest[] },
    signal: AbortSignal,
  ): Promise<readonly ApplyOutcome[]>;
  /** Runs of the namespace in one of the other cell's shards. */
  runs(
    ask: {
      readonly namespaceId: string;
      readonly shard: number;
      readonly after?: string | undefined;
      readonly limit: number;
    },
    signal: AbortSignal,
  ): Promise<RunsPage>;
  /** Says that this cell lives, and how far behind its lanes are. Answers with the other cell's clock; 0: it did not say. */
  probe(backlogs: readonly LaneBacklog[], signal: AbortSignal): Promise<{ readonly now: number }>;
}
