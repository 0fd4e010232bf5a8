/**
 * What only a fleet can break: one writer an epoch (P2), equal replicas (P6), nothing skipped (P9), and inputs of losing
 * branches that are neither applied again nor reported (P1). Everything else is judged as in one cell, by the branch that
 * lasted.
 */
import { epochOf, NO_LINEAGE, type Lineage } from '../../../cell/history/lineage.ts';
import type { Loss } from '../../../cell/shard/replicas/loss.ts';
import type { RunDigest } from '../../../cell/shard/replicas/replicas.ts';
import type { ChronicledRun } from '../chronicle.ts';
import { anonymousOf } from '../client.ts';
import type { Evidence } from '../evidence.ts';
import type { Tally } from '../tally.ts';
import { marksIn, type Decided, type FleetChronicle } from './fleet-chronicle.ts';
import type { FleetCheck } from './tally.ts';

export type FleetEvidence = Evidence & {
  readonly chronicle: FleetChronicle;
  /** Epoch → the cell that the map made active with it. */
  readonly activeIn: ReadonlyMap<number, string>;
  /** Epoch → when the map began it. */
  readonly beganMs: ReadonlyMap<number, number>;
  /** Epochs that began by a forced failover. */
  readonly forced: ReadonlySet<number>;
  /** How often a cell was handed a signal and did not refuse it, by what it carries. */
  readonly handed: ReadonlyMap<string, number>;
  /** What the cells reported, each for itself. */
  readonly losses: readonly (Loss & { readonly cell: string })[];
  readonly digests: readonly {
    readonly runId: string;
    readonly workflowId: string;
    readonly a: RunDigest | undefined;
    readonly b: RunDigest | undefined;
  }[];
};

export function checkFleet(evidence: FleetEvidence, tally: Tally<FleetCheck>): string[] {
  return [
    ...checkWriters(evidence, tally),
    ...checkGates(evidence, tally),
    ...checkDigests(evidence, tally),
    ...checkLost(evidence, tally),
    ...checkWinners(evidence, tally),
    ...checkInputs(evidence, tally),
    ...checkUndeliverable(evidence, tally),
    ...checkStarts(evidence, tally),
    ...checkOpen(evidence, tally),
  ];
}

/** P2: all of an epoch was decided by the cell that the map made active with it. */
function checkWriters({ chronicle, activeIn }: FleetEvidence, tally: Tally<FleetCheck>): string[] {
  return [...chronicle.decided.values()].flatMap(({ cell, atMs, transition }) => {
    tally.add('P2 transitions by epoch');
    const { epoch, number, runId, workflowId } = transition;
    const owner = activeIn.get(epoch);
    if (owner === cell) return [];
    const what = `transition ${number} of ${workflowId} ${runId} in epoch ${epoch} of ${owner}`;
    return [`P2: cell ${cell} decided ${what} at ${atMs.toFixed(1)}`];
  });
}

/** P5: a move switches behind the gates of every shard: of the epoch before nothing is decided after the flip (PROTOCOLS 8). */
function checkGates(
  { chronicle, beganMs, forced }: FleetEvidence,
  tally: Tally<FleetCheck>,
): string[] {
  return [...chronicle.decided.values()].flatMap(({ cell, atMs, transition }) => {
    const { epoch, number, runId, workflowId } = transition;
    const flippedMs = forced.has(epoch + 1) ? undefined : beganMs.get(epoch + 1);
    if (flippedMs === undefined) return [];
    tally.add('P5 transitions before a flip');
    if (atMs <= flippedMs) return [];
    const what = `transition ${number} of ${workflowId} ${runId} in epoch ${epoch}`;
    const when = `at ${atMs.toFixed(1)}, after the flip at ${flippedMs.toFixed(1)}`;
    return [`P5: cell ${cell} decided ${what} ${when}`];
  });
}

/** P6: both cells have the same of every run, recomputed from what is stored. */
function checkDigests({ digests }: FleetEvidence, tally: Tally<FleetCheck>): string[] {
  return digests.flatMap(({ workflowId, runId, a, b }) => {
    tally.add('P6 digests');
    const who = `${workflowId} ${runId}`;
    if (!a || !b) return [`P6: ${who} is missing in cell ${a ? 'b' : 'a'}`];
    const parts = ['transition', 'epoch', 'history', 'state', 'execution'] as const;
    const different = parts.filter((part) => a[part] !== b[part]);
    return different.length === 0 ? [] : [`P6: ${who} differs in ${different.join(', ')}`];
  });
}

/** P9: what is in no branch that lasted is named by a loss report; P5: without a forced failover there is none. */
function checkLost(evidence: FleetEvidence, tally: Tally<FleetCheck>): string[] {
  const { chronicle, forced } = evidence;
  tally.add('P9 transitions that lasted', chronicle.transitions - chronicle.lost.length);
  if (forced.size === 0)
    tally.add('P5 requests without a forced failover', chronicle.requests.size);
  return chronicle.lost.flatMap((one) => {
    tally.add('P9 transitions that lost');
    const { number, epoch, runId, workflowId } = one.transition;
    const what = `transition ${number} of ${workflowId} ${runId} in epoch ${epoch}`;
    if (forced.size === 0) return [`P5: ${what} is gone, and nothing was forced`];
    return isReported(evidence, one) ? [] : [`P9: ${what} is gone, and no report names it`];
  });
}

/** P9: a branch gives way to one that ends in a larger epoch, and to no other (PROTOCOLS 9). */
function checkWinners({ chronicle }: FleetEvidence, tally: Tally<FleetCheck>): string[] {
  return chronicle.lost.flatMap(({ transition }) => {
    const { number, epoch, runId, workflowId } = transition;
    const won = chronicle.lineages.get(runId)?.at(-1)?.epoch;
    if (won === undefined) return [];
    tally.add('P9 branches that gave way');
    const what = `transition ${number} of ${workflowId} ${runId} in epoch ${epoch}`;
    return won > epoch ? [] : [`P9: ${what} gave way to a branch that ends in epoch ${won}`];
  });
}

function isReported({ losses }: FleetEvidence, { transition }: Decided): boolean {
  const { runId, number } = transition;
  return losses.some(
    ({ execution }) =>
      execution.runId === runId &&
      execution.transitions.from <= number &&
      number <= execution.transitions.to,
  );
}

/** P1 across a forced failover: an acknowledged signal or cancel request is there, or the report says that it could not be. */
function checkInputs(evidence: FleetEvidence, tally: Tally<FleetCheck>): string[] {
  const { journal, histories, losses, forced } = evidence;
  if (forced.size === 0) return [];
  return journal.writes.flatMap(({ kind, workflowId, runId, requestId, ackedMs }) => {
    if (kind === 'terminate') return [];
    tally.add('P1 inputs of losing branches');
    const history = histories.get(runId);
    const when = `acknowledged at ${ackedMs.toFixed(1)}`;
    if (kind === 'start') {
      return history ? [] : [`P1: run ${runId} of ${workflowId}, ${when}, is nowhere`];
    }
    const mark = kind === 'signal' ? `signal ${runId} ${requestId}` : `cancel ${runId}`;
    if ((history?.marks.get(mark) ?? 0) > 0) return [];
    const outcomes = losses.filter(({ execution }) => execution.runId === runId);
    const told = outcomes.some(({ execution }) =>
      ['signal-undeliverable', 'superseded'].includes(execution.outcome),
    );
    return told
      ? []
      : [`P1: ${mark} of ${workflowId}, ${when}, was neither applied again nor reported`];
  });
}

/**
 * P9: of a branch whose signals the last report calls undeliverable, one is missing from the branch that lasted. What an
 * earlier report says may be undone, and so may a verdict on the first part of a branch, of which the rest won later: only
 * branches count that parted from the one that lasted where this goes on in a larger epoch. Nor does a verdict count that the
 * reporting cell gave against a branch of its own that has lost since, too.
 */
function checkUndeliverable(evidence: FleetEvidence, tally: Tally<FleetCheck>): string[] {
  const { chronicle, histories, losses, activeIn, beganMs, handed, orders } = evidence;
  const last = Math.max(...activeIn.keys());
  return losses.flatMap(({ cell, epoch, execution }) => {
    const { outcome, runId, workflowId, transitions } = execution;
    if (epoch !== last || cell !== activeIn.get(last)) return [];
    if (outcome !== 'signal-undeliverable') return [];
    const { from, to } = transitions;
    const lost = chronicle.lost
      .map(({ transition }) => transition)
      .filter((one) => one.runId === runId && from <= one.number && one.number <= to);
    if (!lost.some((one) => one.number === to && one.epoch === transitions.epoch)) return [];
    const lineage = chronicle.lineages.get(runId) ?? NO_LINEAGE;
    if ((epochOf(lineage, from) ?? 0) <= transitions.epoch) return [];
    const gaveWay = chronicle.gaveWay.get(`${cell}/${runId}`);
    const inItsTime = gaveWay !== undefined && gaveWay.atMs >= (beganMs.get(last) ?? 0);
    const heard = lost.filter((transition) => marksIn(transition).some(isOfInput));
    if (inItsTime && heard.every(judgedBy(gaveWay.lineage, lineage))) return [];
    tally.add('P9 signals called undeliverable');
    const marks = lost.flatMap(marksIn).filter(isOfInput);
    // One without a request id that the network doubled is two signals.
    const again = new Map<string, number>(
      anonymousOf(orders).map((id) => [`signal ${runId} ${id}`, handed.get(id) ?? 1] as const),
    );
    const there = histories.get(runId)?.marks;
    if (marks.some((mark) => (there?.get(mark) ?? 0) < (again.get(mark) ?? 1))) return [];
    return [`P9: signals of ${workflowId} ${runId} are called undeliverable, and none is missing`];
  });
}

/** Whether what lost was held against a third branch, which has lost against the one that lasted. */
function judgedBy(own: Lineage, lasted: Lineage) {
  return ({ number, epoch }: Decided['transition']): boolean => {
    const judge = epochOf(own, number) ?? 0;
    return judge > 0 && judge !== epoch && judge !== (epochOf(lasted, number) ?? 0);
  };
}

function isOfInput(mark: string): boolean {
  return mark.startsWith('signal ') || mark.startsWith('cancel ');
}

/** P4: an activity of one attempt was started at most once an epoch. */
function checkStarts({ chronicle }: FleetEvidence, tally: Tally<FleetCheck>): string[] {
  const single = new Set<string>();
  const retried = new Set<string>();
  const seen = new Map<string, number>();
  const changes = [...chronicle.decided.values()].flatMap(({ transition }) =>
    transition.changes.map((change) => ({ change, ...transition })),
  );
  for (const { change, runId } of changes) {
    if (change.kind !== 'ActivityTaskScheduled') continue;
    const { retryPolicy } = change.attributes;
    const of = retryPolicy?.maximumAttempts === 1 ? single : retried;
    of.add(`${runId}/${change.eventId}`);
  }
  for (const { change, runId, epoch } of changes) {
    if (change.kind !== 'activity-started') continue;
    const activity = `${runId}/${change.scheduledEventId}`;
    // Branches may have different activities at one event id.
    if (!single.has(activity) || retried.has(activity)) continue;
    const key = `${activity} in epoch ${epoch}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  tally.add('P4 starts of one attempt by epoch', seen.size);
  return [...seen]
    .filter(([, times]) => times > 1)
    .map(([key]) => `P4: an activity of one attempt was started twice: ${key}`);
}

/**
 * P3: two runs of a workflow id were never open at once, but for what a forced failover brought: the report names it, or the
 * cell that started the second could not know the first.
 */
function checkOpen(
  { chronicle, losses, forced }: FleetEvidence,
  tally: Tally<FleetCheck>,
): string[] {
  const reported = new Set(losses.map(({ execution }) => execution.runId));
  const byId = new Map<string, ChronicledRun[]>();
  for (const run of chronicle.runs.values()) {
    byId.set(run.workflowId, [...(byId.get(run.workflowId) ?? []), run]);
  }
  return [...byId.values()].flatMap((runs) => {
    const spans = runs
      .map((run) => {
        const { runId, workflowId, moments, closedMs } = run;
        const span = { fromMs: moments[0]?.atMs ?? 0, toMs: closedMs ?? Number.POSITIVE_INFINITY };
        return { run, runId, workflowId, ...span };
      })
      .sort((x, y) => x.fromMs - y.fromMs);
    return spans.flatMap((span, index) => {
      tally.add('P3 runs by workflow id');
      const before = spans[index - 1];
      if (!before || span.fromMs >= before.toMs) return [];
      if (reported.has(span.runId) || reported.has(before.runId)) return [];
      if (forced.size > 0 && !chronicle.knewAtStart(span.run, before.run)) return [];
      return [
        `P3: run ${span.runId} of ${span.workflowId} began while run ${before.runId} was open`,
      ];
    });
  });
}
