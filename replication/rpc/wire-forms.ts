/** What our ports say, in the messages of `atoll.replication.v1`, and back. */
import { AtollError } from '../../kernel/errors.ts';
import type { RunRef } from '../../cell/shard/engine.ts';
import type { ApplyOutcome, RunDigest } from '../../cell/shard/replicas/replicas.ts';
import type {
  WireAccused,
  WireBacklog,
  WireCopy,
  WireDigest,
  WireLaneStatus,
  WireLossEstimate,
  WireLossReport,
  WireOutcome,
  WireRun,
  WireVerifyReport,
} from '../../wire/atoll/replication.ts';
import type {
  DigestDifference,
  LaneStatus,
  LossEstimate,
  VerifyReport,
} from '../control/control.ts';
import type { LossOutcome } from '../../cell/shard/replicas/loss.ts';
import type { LossReport } from '../losses/loss-report.ts';
import type { CopyProgress, LaneBacklog } from '../peer.ts';

const OUTCOMES = [
  '',
  'applied',
  'known',
  'gap',
  'diverged',
  'lost',
  'refused',
  'undecided',
  // Only at the end: a release that does not know the last ones takes the whole call for failed, and sends it again.
  'later',
] as const;

export function outcomeToWire(outcome: ApplyOutcome): WireOutcome {
  return {
    kind: OUTCOMES.indexOf(outcome.kind),
    have: outcome.kind === 'gap' ? outcome.have : 0,
    reason: 'reason' in outcome ? outcome.reason : '',
  };
}

/** @throws AtollError `unimplemented` for an outcome of a newer release */
export function outcomeFromWire(wire: WireOutcome): ApplyOutcome {
  const kind = OUTCOMES[wire.kind] ?? '';
  switch (kind) {
    case 'gap':
      return { kind, have: wire.have };
    case 'refused':
    case 'later':
      return { kind, reason: wire.reason };
    case '':
      throw new AtollError('unimplemented', `an outcome of kind ${wire.kind} is not known here`);
    default:
      return { kind };
  }
}

export function backlogToWire(backlog: LaneBacklog): WireBacklog {
  const { namespaceId, pending, oldestAt = 0, copy } = backlog;
  return { namespaceId, pending, oldestAt: Math.round(oldestAt), ...copyToWire(copy) };
}

export function backlogFromWire(wire: WireBacklog): LaneBacklog {
  const { namespaceId, pending } = wire;
  return { namespaceId, pending, oldestAt: timeFromWire(wire.oldestAt), copy: copyFromWire(wire) };
}

export function estimateToWire(estimate: LossEstimate): WireLossEstimate {
  const { copy, unheard = false, ...rest } = estimate;
  return { ...rest, unheard, since: Math.round(copy?.since ?? 0), ...copyToWire(copy) };
}

export function estimateFromWire(wire: WireLossEstimate): LossEstimate {
  const { source, heardMsAgo, unheard, knownMissing, lagMs } = wire;
  const progress = copyFromWire(wire);
  const copy = progress && { ...progress, since: timeFromWire(wire.since) };
  return { source, heardMsAgo, unheard, knownMissing, lagMs, copy };
}

function copyToWire(copy: CopyProgress | undefined): WireCopy {
  const { copied = 0, total = 0, seeded = true } = copy ?? {};
  return { copying: copy !== undefined, copied, total, unseeded: !seeded };
}

function copyFromWire({ copying, copied, total, unseeded }: WireCopy): CopyProgress | undefined {
  return copying ? { copied, total, seeded: !unseeded } : undefined;
}

function timeFromWire(at: number): number | undefined {
  return at > 0 ? at : undefined;
}

export function runsFromWire(namespaceId: string, runs: readonly WireRun[]): readonly RunRef[] {
  return runs.map(({ workflowId, runId }) => ({ namespaceId, workflowId, runId }));
}

const NO_DIGEST = { found: false, transition: 0, epoch: 0, history: '', state: '', execution: '' };

export function digestToWire(digest: RunDigest | undefined): WireDigest {
  if (digest === undefined) return NO_DIGEST;
  const { transition, epoch, history, state, execution } = digest;
  return { found: true, transition, epoch, history, state, execution };
}

export function digestFromWire(run: RunRef, wire: WireDigest | undefined): RunDigest | undefined {
  if (wire?.found !== true) return undefined;
  const { transition, epoch, history, state, execution } = wire;
  return { ...run, transition, epoch, history, state, execution };
}

export function accusedToWire(digest: RunDigest): WireAccused {
  const { workflowId, runId } = digest;
  return { run: { workflowId, runId }, digest: digestToWire(digest) };
}

export function accusedFromWire(namespaceId: string, { run, digest }: WireAccused): RunDigest {
  const { workflowId, runId } = run;
  const { transition, epoch, history, state, execution } = digest;
  return { namespaceId, workflowId, runId, transition, epoch, history, state, execution };
}

export function laneToWire(status: LaneStatus): WireLaneStatus {
  const { acknowledgedMsAgo, skewMs, ...rest } = status;
  return {
    ...rest,
    acknowledged: acknowledgedMsAgo !== undefined,
    acknowledgedMsAgo: acknowledgedMsAgo ?? 0,
    skewKnown: skewMs !== undefined,
    skewMs: skewMs ?? 0,
  };
}

export function laneFromWire(wire: WireLaneStatus): LaneStatus {
  const { acknowledged, acknowledgedMsAgo, skewKnown, skewMs, kind, ...rest } = wire;
  return {
    ...rest,
    kind: kind === 'copy' ? 'copy' : 'tail',
    acknowledgedMsAgo: acknowledged ? acknowledgedMsAgo : undefined,
    skewMs: skewKnown ? skewMs : undefined,
  };
}

export function verifyToWire(report: VerifyReport): WireVerifyReport {
  const different = report.different.map(({ why = '', ...rest }) => ({ ...rest, why }));
  return { ...report, different };
}

export function verifyFromWire(wire: WireVerifyReport): VerifyReport {
  const different = wire.different.map(({ workflowId, runId, what, why }) => ({
    workflowId,
    runId,
    what: what as DigestDifference['what'],
    ...(why === '' ? {} : { why }),
  }));
  return { ...wire, different };
}

export function lossFromWire(wire: WireLossReport): LossReport {
  const executions = wire.executions.map((one) => ({
    ...one,
    outcome: one.outcome as LossOutcome,
  }));
  return { ...wire, executions };
}
