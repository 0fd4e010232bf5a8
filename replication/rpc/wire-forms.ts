/** What our ports say, in the messages of `atoll.replication.v1`, and back. */
import { AtollError } from '../../kernel/errors.ts';
import type { RunRef } from '../../cell/shard/engine.ts';
import type { ApplyOutcome, RunDigest } from '../../cell/shard/replicas/replicas.ts';
import type {
  WireAccused,
  WireBacklog,
  WireDigest,
  WireLaneStatus,
  WireLossReport,
  WireOutcome,
  WireRun,
  WireVerifyReport,
} from '../../wire/atoll/replication.ts';
import type { DigestDifference, LaneStatus, VerifyReport } from '../control/control.ts';
import type { LossOutcome } from '../../cell/shard/replicas/loss.ts';
import type { LossReport } from '../losses/loss-report.ts';
import type { LaneBacklog } from '../peer.ts';

const OUTCOMES = [
  '',
  'applied',
  'known',
  'gap',
  'diverged',
  'lost',
  'refused',
  'undecided',
] as const;

export function outcomeToWire(outcome: ApplyOutcome): WireOutcome {
  return {
    kind: OUTCOMES.indexOf(outcome.kind),
    have: outcome.kind === 'gap' ? outcome.have : 0,
    reason: outcome.kind === 'refused' ? outcome.reason : '',
  };
}

/** @throws AtollError `unimplemented` for an outcome of a newer release */
export function outcomeFromWire(wire: WireOutcome): ApplyOutcome {
  const kind = OUTCOMES[wire.kind] ?? '';
  switch (kind) {
    case 'gap':
      return { kind, have: wire.have };
    case 'refused':
      return { kind, reason: wire.reason };
    case '':
      throw new AtollError('unimplemented', `an outcome of kind ${wire.kind} is not known here`);
    default:
      return { kind };
  }
}

export function backlogToWire(backlog: LaneBacklog): WireBacklog {
  const { namespaceId, pending, oldestAt = 0 } = backlog;
  return { namespaceId, pending, oldestAt: Math.round(oldestAt) };
}

export function backlogFromWire({ namespaceId, pending, oldestAt }: WireBacklog): LaneBacklog {
  return { namespaceId, pending, oldestAt: oldestAt > 0 ? oldestAt : undefined };
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

export function verifyFromWire(wire: WireVerifyReport): VerifyReport {
  const different = wire.different.map(({ workflowId, runId, what }) => ({
    workflowId,
    runId,
    what: what as DigestDifference['what'],
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
