/**
 * `atoll.replication.v1`: how cells speak to each other of namespaces that both keep, and admins to a cell of a move.
 *
 * Place: replication/rpc/ serves and calls these; the port of a cell's frontend carries them.
 *
 *   service Replication  PushSteps, PushImages, PushImagePart, Digests, Remove, Runs, Probe    cell → cell
 *   service CellControl  Gate, Lane, Observe, Verify, EstimateLoss, LossReport         admin → cell
 *
 * Times are ms since 1970. `oldestAt` and `since` 0, `next` and `after` '' mean none.
 */
import { MessagePackage, type MessageCodec } from './message-codec.ts';

const PACKAGE = 'atoll.replication.v1';
const REPLICATION = `/${PACKAGE}.Replication`;
const CONTROL = `/${PACKAGE}.CellControl`;

/** All paths of the package begin so. */
export const REPLICATION_PREFIX = `/${PACKAGE}.`;
/** Paths that only admins may call. */
export const CONTROL_PREFIX = `${CONTROL}/`;

const messages = new MessagePackage(PACKAGE, {
  Empty: {},
  Run: { workflowId: [1, 'string'], runId: [2, 'string'] },
  // kind: 1 applied, 2 known, 3 gap, 4 diverged, 5 lost, 6 refused, 7 undecided, 8 later
  Outcome: { kind: [1, 'uint32'], have: [2, 'uint64'], reason: [3, 'string'] },
  Outcomes: { outcomes: [1, 'Outcome[]'] },
  PushSteps: {
    namespaceId: [1, 'string'],
    steps: [2, 'bytes[]'],
    pending: [3, 'uint64'],
    oldestAt: [4, 'int64'],
    copying: [5, 'bool'],
    copied: [6, 'uint64'],
    total: [7, 'uint64'],
    unseeded: [8, 'bool'],
  },
  PushImages: { namespaceId: [1, 'string'], images: [2, 'bytes[]'], repair: [3, 'bool'] },
  PushImagePart: {
    namespaceId: [1, 'string'],
    upload: [2, 'string'],
    index: [3, 'uint32'],
    count: [4, 'uint32'],
    bytes: [5, 'bytes'],
    repair: [6, 'bool'],
  },
  AskDigests: { namespaceId: [1, 'string'], runs: [2, 'Run[]'], recompute: [3, 'bool'] },
  Digest: {
    found: [1, 'bool'],
    transition: [2, 'uint64'],
    epoch: [3, 'uint64'],
    history: [4, 'string'],
    state: [5, 'string'],
    execution: [6, 'string'],
  },
  Digests: { digests: [1, 'Digest[]'] },
  // A digest tells what is accused of being there; `found` says nothing.
  Accused: { run: [1, 'Run'], digest: [2, 'Digest'] },
  Remove: { namespaceId: [1, 'string'], runs: [2, 'Accused[]'] },
  AskRuns: {
    namespaceId: [1, 'string'],
    shard: [2, 'uint32'],
    after: [3, 'string'],
    limit: [4, 'uint32'],
  },
  Runs: { runs: [1, 'Run[]'], next: [2, 'string'], shards: [3, 'uint32'] },
  Backlog: {
    namespaceId: [1, 'string'],
    pending: [2, 'uint64'],
    oldestAt: [3, 'int64'],
    copying: [4, 'bool'],
    copied: [5, 'uint64'],
    total: [6, 'uint64'],
    unseeded: [7, 'bool'],
  },
  Probe: { backlogs: [1, 'Backlog[]'] },
  // The clock of who answers; 0: of an older release.
  Probed: { now: [1, 'int64'] },

  AskGate: { namespaceId: [1, 'string'], moveId: [2, 'string'], revision: [3, 'uint64'] },
  Barrier: { shard: [1, 'uint32'], seq: [2, 'uint64'] },
  Barriers: { barriers: [1, 'Barrier[]'] },
  AskLane: { namespaceId: [1, 'string'], target: [2, 'string'] },
  LaneStatus: {
    kind: [1, 'string'],
    pending: [2, 'uint64'],
    lagMs: [3, 'double'],
    copied: [4, 'uint64'],
    total: [5, 'uint64'],
    parked: [6, 'uint64'],
    deadLetters: [7, 'uint64'],
    acknowledged: [8, 'bool'],
    acknowledgedMsAgo: [9, 'double'],
    applied: [10, 'Barrier[]'],
    skewKnown: [11, 'bool'],
    skewMs: [12, 'double'],
  },
  AskObserve: { namespaceId: [1, 'string'], revision: [2, 'uint64'] },
  AskVerify: {
    namespaceId: [1, 'string'],
    against: [2, 'string'],
    repair: [3, 'bool'],
    changed: [4, 'bool'],
    stored: [5, 'bool'],
  },
  Difference: {
    workflowId: [1, 'string'],
    runId: [2, 'string'],
    what: [3, 'string'],
    why: [4, 'string'],
  },
  VerifyReport: {
    compared: [1, 'uint64'],
    equal: [2, 'uint64'],
    different: [3, 'Difference[]'],
    differences: [4, 'uint64'],
    moving: [5, 'uint64'],
    repaired: [6, 'uint64'],
  },
  AskNamespace: { namespaceId: [1, 'string'] },
  LossEstimate: {
    source: [1, 'string'],
    heardMsAgo: [2, 'double'],
    knownMissing: [3, 'uint64'],
    lagMs: [4, 'double'],
    unheard: [5, 'bool'],
    copying: [6, 'bool'],
    copied: [7, 'uint64'],
    total: [8, 'uint64'],
    unseeded: [9, 'bool'],
    since: [10, 'int64'],
  },
  LossEstimates: { estimates: [1, 'LossEstimate[]'] },
  LostTransitions: { from: [1, 'uint64'], to: [2, 'uint64'], epoch: [3, 'uint64'] },
  LostExecution: {
    workflowId: [1, 'string'],
    runId: [2, 'string'],
    outcome: [3, 'string'],
    transitions: [4, 'LostTransitions'],
    rolledBack: [5, 'string[]'],
    reapplied: [6, 'string[]'],
    mayHaveRunTwice: [7, 'string[]'],
  },
  LossReport: {
    namespaceId: [1, 'string'],
    epoch: [2, 'uint64'],
    executions: [3, 'LostExecution[]'],
    omitted: [4, 'uint64'],
  },
});

export type WireRun = { readonly workflowId: string; readonly runId: string };
export type WireOutcome = { readonly kind: number; readonly have: number; readonly reason: string };
/** Absent in messages of an older release: all false and 0. */
export type WireCopy = {
  readonly copying: boolean;
  readonly copied: number;
  readonly total: number;
  readonly unseeded: boolean;
};
export type WireBacklog = WireCopy & {
  readonly namespaceId: string;
  readonly pending: number;
  readonly oldestAt: number;
};
export type WireDigest = {
  readonly found: boolean;
  readonly transition: number;
  readonly epoch: number;
  readonly history: string;
  readonly state: string;
  readonly execution: string;
};
export type WireAccused = { readonly run: WireRun; readonly digest: WireDigest };
export type WireBarrier = { readonly shard: number; readonly seq: number };
export type WireLaneStatus = {
  readonly kind: string;
  readonly pending: number;
  readonly lagMs: number;
  readonly copied: number;
  readonly total: number;
  readonly parked: number;
  readonly deadLetters: number;
  readonly acknowledged: boolean;
  readonly acknowledgedMsAgo: number;
  readonly applied: readonly WireBarrier[];
  readonly skewKnown: boolean;
  readonly skewMs: number;
};
export type WireVerifyReport = {
  readonly compared: number;
  readonly equal: number;
  readonly different: readonly {
    readonly workflowId: string;
    readonly runId: string;
    readonly what: string;
    readonly why: string;
  }[];
  readonly differences: number;
  readonly moving: number;
  readonly repaired: number;
};
export type WireLossEstimate = WireCopy & {
  readonly source: string;
  readonly heardMsAgo: number;
  readonly knownMissing: number;
  readonly lagMs: number;
  readonly unheard: boolean;
  readonly since: number;
};
export type WireLossReport = {
  readonly namespaceId: string;
  readonly epoch: number;
  readonly executions: readonly {
    readonly workflowId: string;
    readonly runId: string;
    readonly outcome: string;
    readonly transitions: { readonly from: number; readonly to: number; readonly epoch: number };
    readonly rolledBack: readonly string[];
    readonly reapplied: readonly string[];
    readonly mayHaveRunTwice: readonly string[];
  }[];
  readonly omitted: number;
};

/** One RPC: where, and in which messages. */
export type ReplicationMethod<Request, Response> = {
  readonly path: string;
  readonly request: MessageCodec<Request>;
  readonly response: MessageCodec<Response>;
};

function method<Request, Response>(
  path: string,
  request: string,
  response: string,
): ReplicationMethod<Request, Response> {
  return { path, request: messages.codec(request), response: messages.codec(response) };
}

type OfNamespace = { readonly namespaceId: string };
type Empty = Readonly<Record<string, never>>;
type Outcomes = { readonly outcomes: readonly WireOutcome[] };

export const PUSH_STEPS = method<WireBacklog & { readonly steps: readonly Uint8Array[] }, Outcomes>(
  `${REPLICATION}/PushSteps`,
  'PushSteps',
  'Outcomes',
);
export const PUSH_IMAGES = method<
  OfNamespace & { readonly images: readonly Uint8Array[]; readonly repair: boolean },
  Outcomes
>(`${REPLICATION}/PushImages`, 'PushImages', 'Outcomes');
/** One part of a large image; answers with its outcome after the last part, with none before. */
export const PUSH_IMAGE_PART = method<
  OfNamespace & {
    readonly upload: string;
    readonly index: number;
    readonly count: number;
    readonly bytes: Uint8Array;
    readonly repair: boolean;
  },
  Outcomes
>(`${REPLICATION}/PushImagePart`, 'PushImagePart', 'Outcomes');
export const DIGESTS = method<
  OfNamespace & { readonly runs: readonly WireRun[]; readonly recompute: boolean },
  { readonly digests: readonly WireDigest[] }
>(`${REPLICATION}/Digests`, 'AskDigests', 'Digests');
export const REMOVE = method<OfNamespace & { readonly runs: readonly WireAccused[] }, Outcomes>(
  `${REPLICATION}/Remove`,
  'Remove',
  'Outcomes',
);
export const RUNS = method<
  OfNamespace & { readonly shard: number; readonly after: string; readonly limit: number },
  { readonly runs: readonly WireRun[]; readonly next: string; readonly shards: number }
>(`${REPLICATION}/Runs`, 'AskRuns', 'Runs');
export const PROBE = method<
  { readonly backlogs: readonly WireBacklog[] },
  { readonly now: number }
>(`${REPLICATION}/Probe`, 'Probe', 'Probed');

export const GATE = method<
  OfNamespace & { readonly moveId: string; readonly revision: number },
  { readonly barriers: readonly WireBarrier[] }
>(`${CONTROL}/Gate`, 'AskGate', 'Barriers');
export const LANE = method<OfNamespace & { readonly target: string }, WireLaneStatus>(
  `${CONTROL}/Lane`,
  'AskLane',
  'LaneStatus',
);
export const OBSERVE = method<OfNamespace & { readonly revision: number }, Empty>(
  `${CONTROL}/Observe`,
  'AskObserve',
  'Empty',
);
export const VERIFY = method<
  OfNamespace & {
    readonly against: string;
    readonly repair: boolean;
    readonly changed?: boolean | undefined;
    readonly stored?: boolean | undefined;
  },
  WireVerifyReport
>(`${CONTROL}/Verify`, 'AskVerify', 'VerifyReport');
export const ESTIMATE_LOSS = method<
  OfNamespace,
  { readonly estimates: readonly WireLossEstimate[] }
>(`${CONTROL}/EstimateLoss`, 'AskNamespace', 'LossEstimates');
export const LOSS_REPORT = method<OfNamespace, WireLossReport>(
  `${CONTROL}/LossReport`,
  'AskNamespace',
  'LossReport',
);
