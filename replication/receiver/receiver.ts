/**
 * The receiving half of replication: takes what other cells send, and answers what they ask, for the namespaces that both
 * cells keep (PROTOCOLS 7).
 *
 * Place: behind rpc/handler.ts, which has proved who calls; before the shards' `Replicas`.
 *
 * Invariants
 *  1. Nothing is taken or told of a namespace whose placement does not list both cells, by the map of this cell. A map that
 *     may be behind is looked at once more before it is said so.
 *  2. What is inside must be of the namespace that the call names: otherwise the whole call is refused, nothing of it is done.
 *  3. Nothing of an epoch that this cell's map has not reached: the map is the judge of epochs, not a peer (D8).
 *  4. A step or image that cannot be read is refused by itself, and one that cannot be taken has its own outcome; the others of
 *     its call go on. A call that rejects says something of the whole call.
 *  5. `applied` and `known` mean durable here.
 */
import type { RunRef } from '../../cell/shard/engine.ts';
import type {
  ApplyOutcome,
  Replicas,
  ReplicatedStep,
  RunDigest,
  RunImage,
} from '../../cell/shard/replicas/replicas.ts';
import { oneOutcome } from '../../cell/shard/replicas/item-outcome.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import type { Namespace } from '../../fleet/map.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import type { FollowedMap } from '../followed-map.ts';
import { replicatedBetween } from '../lanes/lanes-of-map.ts';
import type { ImagePush, LaneBacklog, RunsPage, StepPush } from '../peer.ts';
import type { SourceReports } from './source-reports.ts';
import { decodeImage, decodeReplicatedStep } from '../step-codec.ts';

export type ReceiverParts = {
  readonly cellId: string;
  readonly map: FollowedMap;
  readonly replicas: Replicas;
  readonly reports: SourceReports;
};

/** Runs asked for in one call, at most. */
const MAX_RUNS = 1_000;

type Read<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'unreadable'; readonly reason: string };

export class Receiver {
  readonly #parts: ReceiverParts;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  async steps(
    source: string,
    push: StepPush,
    signal: AbortSignal,
  ): Promise<readonly ApplyOutcome[]> {
    const read = push.steps.map((bytes) => readOne(() => decodeReplicatedStep(bytes)));
    const steps = valuesOf(read);
    const highest = Math.max(0, ...steps.map(({ transition }) => transition.epoch));
    await this.#admit(source, push.namespaceId, highest);
    for (const { transition } of steps) assertOf(push.namespaceId, transition.namespaceId);
    const outcomes = steps.length === 0 ? [] : await this.#parts.replicas.apply(steps, signal);
    this.#parts.reports.heard(source, [push]);
    return weave(read, outcomes);
  }

  async images(
    source: string,
    push: ImagePush,
    signal: AbortSignal,
  ): Promise<readonly ApplyOutcome[]> {
    const read = push.images.map((bytes) => readOne(() => decodeImage(bytes)));
    const images = valuesOf(read);
    const highest = Math.max(0, ...images.map(({ state }) => state.epoch));
    await this.#admit(source, push.namespaceId, highest);
    for (const { state } of images) assertOf(push.namespaceId, state.namespaceId);
    const { replicas } = this.#parts;
    const outcomes = await Promise.all(
      images.map((image) => oneOutcome(signal, () => replicas.adopt(image, push, signal))),
    );
    this.#parts.reports.heard(source, []);
    return weave(read, outcomes);
  }

  async digests(
    source: string,
    ask: {
      readonly namespaceId: string;
      readonly runs: readonly RunRef[];
      readonly recompute: boolean;
    },
    signal: AbortSignal,
  ): Promise<readonly (RunDigest | undefined)[]> {
    await this.#admit(source, ask.namespaceId, 0);
    assertRoom(ask.runs.length);
    for (const { namespaceId } of ask.runs) assertOf(ask.namespaceId, namespaceId);
    return this.#parts.replicas.digests(ask.runs, { recompute: ask.recompute }, signal);
  }

  /** Errors: `failed-precondition` unless the source is the one that acts by the map of this cell. */
  async remove(
    source: string,
    ask: { readonly namespaceId: string; readonly runs: readonly RunDigest[] },
    signal: AbortSignal,
  ): Promise<readonly ApplyOutcome[]> {
    const { map, cellId, replicas } = this.#parts;
    const { namespaceId, runs } = ask;
    await this.#admit(source, namespaceId, 0);
    assertRoom(runs.length);
    const { active } = map.namespaceById(namespaceId)?.placement ?? {};
    if (active !== source) {
      throw new AtollError(
        'failed-precondition',
        `Cell ${cellId} removes nothing of namespace ${namespaceId} for cell ${source}: cell ${active} is the active one.`,
      );
    }
    for (const run of runs) assertOf(namespaceId, run.namespaceId);
    return Promise.all(runs.map((run) => oneOutcome(signal, () => replicas.remove(run, signal))));
  }

  async runs(
    source: string,
    ask: {
      readonly namespaceId: string;
      readonly shard: number;
      readonly after?: string | undefined;
      readonly limit: number;
    },
    signal: AbortSignal,
  ): Promise<RunsPage> {
    const { namespaceId, after, limit } = ask;
    await this.#admit(source, namespaceId, 0);
    const { replicas } = this.#parts;
    const shards = replicas.shardCount;
    if (!Number.isInteger(ask.shard) || ask.shard < 0 || ask.shard >= shards) {
      throw new AtollError('invalid-argument', `shard ${ask.shard} of ${shards} does not exist`);
    }
    assertRoom(limit);
    const shard = { shard: ask.shard as ShardId, namespaceId, afterSeq: 0 as Seq };
    const { runs, next } = await replicas.runsOf(shard, { after, limit }, signal);
    return { runs, next, shards };
  }

  /** The source lives, and is told the time here; backlogs of namespaces that it does not share with this cell are ignored. */
  probe(source: string, backlogs: readonly LaneBacklog[]): { readonly now: number } {
    const { map, cellId, reports } = this.#parts;
    const shared = backlogs.filter(({ namespaceId }) =>
      replicatedBetween(map.namespaceById(namespaceId), source, cellId),
    );
    reports.heard(source, shared);
    return { now: reports.now() };
  }

  /** @throws AtollError `failed-precondition` where the namespace is not kept by both cells */
  admit(source: string, namespaceId: string): Promise<void> {
    return this.#admit(source, namespaceId, 0);
  }

  /** Looks at the map once more where the known one does not admit the call. */
  async #admit(source: string, namespaceId: string, epoch: number): Promise<void> {
    const { map, cellId } = this.#parts;
    const isAdmitted = (namespace: Namespace | undefined) =>
      replicatedBetween(namespace, source, cellId) && (namespace?.placement.epoch ?? 0) >= epoch;
    if (isAdmitted(map.namespaceById(namespaceId))) return;
    await map.refresh();
    const namespace = map.namespaceById(namespaceId);
    if (isAdmitted(namespace)) return;
    const why = replicatedBetween(namespace, source, cellId)
      ? `epoch ${epoch} is above epoch ${namespace?.placement.epoch} of this cell's map, whose control plane may be away`
      : `it is not kept by both cells: see its replicas in the fleet map`;
    throw new AtollError(
      'failed-precondition',
      `Cell ${cellId} takes nothing of namespace ${namespaceId} from cell ${source}: ${why}.`,
    );
  }
}

function readOne<Value>(read: () => Value): Read<Value> {
  try {
    return { kind: 'value', value: read() };
  } catch (error) {
    return { kind: 'unreadable', reason: toAtollError(error).message };
  }
}

function valuesOf<Value>(read: readonly Read<Value>[]): readonly Value[] {
  return read.flatMap((one) => (one.kind === 'value' ? [one.value] : []));
}

/** Outcomes back in the places of what was sent. */
function weave(
  read: readonly Read<ReplicatedStep | RunImage>[],
  outcomes: readonly ApplyOutcome[],
): readonly ApplyOutcome[] {
  let next = 0;
  return read.map((one): ApplyOutcome => {
    if (one.kind === 'unreadable') return { kind: 'refused', reason: one.reason };
    const outcome = outcomes[next];
    next += 1;
    return outcome ?? { kind: 'refused', reason: 'the shards gave no answer' };
  });
}

function assertOf(asked: string, inner: string): void {
  if (asked === inner) return;
  throw new AtollError(
    'permission-denied',
    `A call for namespace ${asked} carries data of another namespace: nothing of it was done.`,
  );
}

function assertRoom(runs: number): void {
  if (Number.isInteger(runs) && runs >= 0 && runs <= MAX_RUNS) return;
  throw new AtollError('invalid-argument', `${runs} runs in one call: ask for at most ${MAX_RUNS}`);
}
