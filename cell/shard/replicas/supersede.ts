/**
 * A run whose workflow id points at another one, though it is open: two cells took the id, each in its own epoch (PROTOCOLS
 * 9). Where the namespace acts it is closed as superseded before anything else of it: it is kept, and the id goes on
 * pointing where it points.
 *
 * Invariants
 *  1. It is reported first: no crash leaves an end without its reason.
 *  2. The step that closes it says anew where the id points, and which run took its request: so says every replica then.
 */
import { orAbort } from '../../../kernel/deadline.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { DecideContext } from '../../history/decision.ts';
import type { CurrentRun, LedgerEntry } from '../../history/execution.ts';
import { decide } from '../../history/history.ts';
import type { CachedRun } from '../runs/cached.ts';
import type { RunRef } from '../engine.ts';
import type { Batch } from '../log/gather.ts';
import { NOTHING_LOST } from './losing-branch.ts';
import type { LossBook } from './loss-book.ts';
import { encodeStep, type EncodedStep } from '../log/record-codec.ts';
import type { Found } from '../runs/shard-memory.ts';

/** What is asked of the ownership. */
export interface ActingShard {
  at<T>(ref: RunRef, signal: AbortSignal, use: (found: Found) => T): Promise<T>;
  append(decided: { readonly steps: readonly EncodedStep[] }): Batch;
  contextOf(run: CachedRun): DecideContext;
  readonly standing: {
    /** @throws AtollError `unavailable` */
    assertActing(namespaceId: string): void;
    epochOf(namespaceId: string): number;
  };
}

/**
 * Whether the run is open though its workflow id points elsewhere, as another epoch set it: within one, a single writer starts
 * a run only when the one before has ended, and what contradicts that is a store that lost rows.
 */
export function isStray(run: CachedRun, current: CurrentRun | undefined): boolean {
  if (current === undefined || current.runId === run.ref.runId) return false;
  const [began] = run.head.lineage;
  return run.head.closedAt === undefined && current.epoch !== (began?.epoch ?? run.head.epoch);
}

/** Closes a stray run; one that is none any more is let be. */
export async function supersede(
  shard: ActingShard,
  ref: RunRef,
  { losses, signal }: { readonly losses: Pick<LossBook, 'note'>; readonly signal: AbortSignal },
): Promise<void> {
  const { namespaceId } = ref;
  const transitions = await shard.at(ref, signal, ({ run, execution }) => {
    shard.standing.assertActing(namespaceId);
    if (!isStray(run, execution.current)) return undefined;
    return { from: 1, to: run.head.transition, epoch: run.head.epoch };
  });
  if (!transitions) return;
  const wonBy = shard.standing.epochOf(namespaceId);
  // Nothing of it is gone: it ends.
  const kept = { content: NOTHING_LOST, outcome: 'superseded', reapplied: [] } as const;
  await orAbort(losses.note({ ref, wonBy, transitions, ...kept }), signal);
  const batch = await shard.at(ref, signal, ({ run, execution: { current } }) => {
    shard.standing.assertActing(namespaceId);
    if (!isStray(run, current)) return undefined;
    return shard.append({ steps: [superseding(run, current, shard.contextOf(run))] });
  });
  if (batch) await orAbort(batch.committed, signal);
}

function superseding(run: CachedRun, current: CurrentRun, ctx: DecideContext): EncodedStep {
  const reason = `superseded: run ${current.runId} took the workflow id after a failover`;
  const decision = decide(run.live, { kind: 'terminate', reason, identity: 'atoll' }, ctx);
  invariant(decision.kind === 'commit', `a stray run is closed, not ${decision.kind}`);
  const [{ transition, state }] = decision.steps;
  // Both cells may have taken one request: said anew so that it counts, and what the last one said (staysTaken).
  const { startRequestId: requestId, runId, startedAt } = current;
  const at = 1 + Math.max(startedAt, state.start.startedAt);
  const said = { epoch: state.epoch, by: state.runId };
  const taken: LedgerEntry = { requestId, kind: 'start', runId, at, ...said };
  const ledger = requestId === state.start.requestId ? { ledger: [taken] } : {};
  // Of what was said in this epoch already nothing is to be taken back with this end.
  const given = current.epoch === state.epoch ? current : { ...current, ...said };
  const execution = { current: given, ...ledger };
  return encodeStep({ ...transition, execution }, state);
}
