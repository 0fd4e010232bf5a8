/**
 * The port through which admins and orchestrators speak to one cell about a namespace (D10, PROTOCOLS 8-10): close it by
 * gates, ask how far its lanes are, hold it against its replica. `cell-control-client.ts` speaks it over gRPC
 * (`atoll.replication.v1`), `cell-control.ts` serves it in the cell.
 *
 * Promises
 *  1. Every method is idempotent: an orchestrator that died may be followed by another that asks the same again.
 *  2. Nothing here changes the fleet map: the flip is the orchestrator's, by compare-and-set.
 *
 * Errors: `unavailable` when the cell cannot be reached or a shard is not owned; `failed-precondition` when the map that
 * the cell knows says otherwise; both mean that nothing is known to have happened, except where a method says more.
 */
import type { LossReport } from '../losses/loss-report.ts';
import type { CopyProgress } from '../peer.ts';

/** The end of a namespace in one shard's log: nothing of it is decided behind `seq` (PROTOCOLS 8.1). */
export type ShardBarrier = { readonly shard: number; readonly seq: number };

export type GateAsk = {
  readonly namespaceId: string;
  readonly moveId: string;
  /** The map revision that holds the handover: the cell looks at the map until it has seen it. */
  readonly revision: number;
};

/** A lane as its source sees it; one per namespace and target cell. */
export type LaneStatus = {
  readonly kind:
    /** Follows the log. */
    | 'tail'
    /** Sends the states of runs, since it was too far behind or is new. */
    | 'copy';
  /** Transitions that the target has not acknowledged; in copy: runs still to send. */
  readonly pending: number;
  /** Age of the oldest of them, in ms; 0 when there are none. */
  readonly lagMs: number;
  /** Runs sent since the copy began, and an estimate of all; 0 in tail. */
  readonly copied: number;
  readonly total: number;
  /** Runs that a transition which cannot be applied stopped, and what lies in dead letters. Both block a planned flip. */
  readonly parked: number;
  readonly deadLetters: number;
  /** ms since the target last acknowledged anything, an empty probe included; undefined: never. */
  readonly acknowledgedMsAgo?: number | undefined;
  /** The target's clock minus the source's, ms, the least that its answers to probes prove; undefined: not known. More than 1 s blocks a move (D16). */
  readonly skewMs?: number | undefined;
  /** Per shard of the source: everything at or below has been applied by the target. */
  readonly applied: readonly ShardBarrier[];
};

/** What a target knows of a source that may be dead (D10): printed before a failover. */
export type LossEstimate = {
  readonly source: string;
  /** ms since the source was last heard. */
  readonly heardMsAgo: number;
  /** Nothing was heard of it since this cell started: what is missing is not known at all. */
  readonly unheard?: boolean | undefined;
  /** Transitions that the source had said it holds and that are not applied here; more may be missing while it copies. */
  readonly knownMissing: number;
  /** Age of the oldest of those, ms: with `heardMsAgo`, the time span of writes that may be lost. 0 where it is not known. */
  readonly lagMs: number;
  /** The source was copying: what is missing is not known. */
  readonly copy?: EstimateOfCopy | undefined;
};

export type EstimateOfCopy = CopyProgress & {
  /** Everything that changed before is here, ms since 1970 by the source's clock; absent: no such time is known. */
  readonly since?: number | undefined;
};

/** Every execution of the namespace held against another cell at the same transition number (PROTOCOLS 10). */
export type VerifyReport = {
  readonly compared: number;
  readonly equal: number;
  /** At most 100 of those that differ, with what differs. */
  readonly different: readonly DigestDifference[];
  readonly differences: number;
  /** Moved between two looks too often to be compared: changing all the while. */
  readonly moving: number;
  readonly repaired: number;
};

export type DigestDifference = {
  readonly workflowId: string;
  readonly runId: string;
  /**
   * `missing` at the other cell or in its database, `extra` there, `unreadable` in one of them, or what of the digest differs.
   * `unstored`: the cell that was asked has it in memory, and its database has lost rows of it. That is not to be repaired from
   * here.
   */
  readonly what:
    'missing' | 'extra' | 'unreadable' | 'unstored' | 'history' | 'state' | 'execution';
  /** Of `unstored`: what that means. Where a repair was asked for and did not mend it: what kept it from that, if anything was said. */
  readonly why?: string | undefined;
};

export type VerifyAsk = {
  readonly namespaceId: string;
  readonly against: string;
  readonly repair: boolean;
  readonly changed?: boolean | undefined;
  readonly stored?: boolean | undefined;
};

export interface CellControl {
  /** Closes the namespace in every shard by a gate record; resolves once all are durable. */
  gate(ask: GateAsk, signal: AbortSignal): Promise<readonly ShardBarrier[]>;
  /** The lane from this cell to `target`; `not-found` when the namespace has no such replica. */
  lane(
    ask: { readonly namespaceId: string; readonly target: string },
    signal: AbortSignal,
  ): Promise<LaneStatus>;
  /** Looks at the map until it has seen this revision, and lets every shard act on it: open, stand by, become active. */
  observe(
    ask: { readonly namespaceId: string; readonly revision: number },
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Holds every execution against that cell; with `repair`, mends there what differs. With `changed`, only what has changed
   * since this cell last found it equal there: it remembers that from a comparison of all, as long as it lives and the
   * epoch is the same; without one, it compares all. With `stored`, and with `repair`, all that is stored is read in both cells
   * instead of what they keep incrementally.
   */
  verify(ask: VerifyAsk, signal: AbortSignal): Promise<VerifyReport>;
  /** What this cell would lose if it became active now. */
  estimateLoss(
    ask: { readonly namespaceId: string },
    signal: AbortSignal,
  ): Promise<readonly LossEstimate[]>;
  /** What was rolled back here, re-applied or may have run twice, since the last forced failover. */
  lossReport(ask: { readonly namespaceId: string }, signal: AbortSignal): Promise<LossReport>;
}
