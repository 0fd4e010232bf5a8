/**
 * All shards of one host behind the Replicas port (D9): finds the owner of what a lane brings or asks for.
 *
 * Invariants
 *  1. Steps of one run are decided one after another, those of different runs at once; an outcome is told once all that it
 *     rests on is durable.
 *  2. What a workflow id's steps throw is the outcome of those alone (item-outcome.ts).
 *  3. An image, a digest and a "nothing there" are proven current (PROTOCOLS 4).
 */
import type { Clock } from '../../../kernel/clock.ts';
import { orAbort, withDeadline } from '../../../kernel/deadline.ts';
import { toAtollError } from '../../../kernel/errors.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { Rng } from '../../../kernel/rng.ts';
import type { Seq, ShardId, ShardLog } from '../../storage/shard-log.ts';
import { allowManyListeners } from '../../storage/many-listeners.ts';
import type { ShardViews } from '../../storage/views.ts';
import { bounded } from '../bounded.ts';
import { isDamage } from '../damage.ts';
import { DigestReader, isSameDigest, isWithoutId } from './digest-reader.ts';
import type { RunRef, Target } from '../engine.ts';
import { orOutcome } from './item-outcome.ts';
import type { LossBook } from './loss-book.ts';
import type { Ownership } from '../ownership.ts';
import { decodeRecord } from '../log/record-codec.ts';
import { executionNotFound } from '../refusals.ts';
import { isDamagedBeside, ReplicaRepair } from './replica-repair.ts';
import { ReplicaWriter } from './replica-writer.ts';
import type {
  AskRuns,
  LaneFeed,
  ApplyOutcome,
  ReplicatedStep,
  Replicas,
  RunDigest,
  RunImage,
  RunsOfShard,
} from './replicas.ts';
import { RunSource } from '../runs/run-source.ts';
import type { StaleCaches } from '../runs/stale-caches.ts';

/** What it needs of the host. */
export interface OwnedShards {
  readonly shardCount: number;
  ownership(target: Target, signal: AbortSignal): Promise<Ownership>;
  ownershipOf(shard: ShardId, signal: AbortSignal): Promise<Ownership>;
  readonly shards: readonly ShardId[];
}

/** Digests of one call that may read at the same time: a page is more than a database connection lets wait. */
const DIGESTS_AT_ONCE = 16;

export class ShardReplicas implements Replicas {
  readonly #host: OwnedShards;
  readonly #log: ShardLog;
  readonly #views: ShardViews;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #source: RunSource;
  readonly #digests: DigestReader;
  readonly #writing: {
    readonly rng: Rng;
    readonly losses: LossBook;
    readonly staleCaches: Pick<StaleCaches, 'doubt'>;
    readonly source: RunSource;
    readonly lanes: LaneFeed;
  };

  constructor(options: {
    readonly host: OwnedShards;
    readonly log: ShardLog;
    readonly views: ShardViews;
    readonly clock: Clock;
    readonly rng: Rng;
    readonly statementDeadlineMs: number;
    readonly lanes: LaneFeed;
    readonly losses: LossBook;
    readonly staleCaches: Pick<StaleCaches, 'doubt'>;
  }) {
    this.#host = options.host;
    this.#log = options.log;
    this.#views = options.views;
    this.#clock = options.clock;
    this.#deadlineMs = options.statementDeadlineMs;
    this.#source = new RunSource(options.views, options.clock, options.statementDeadlineMs);
    this.#digests = new DigestReader(this.#source);
    const { rng, losses, staleCaches, lanes } = options;
    this.#writing = { rng, losses, staleCaches, lanes, source: this.#source };
  }

  get shardCount(): number {
    return this.#host.shardCount;
  }

  async apply(
    steps: readonly ReplicatedStep[],
    signal: AbortSignal,
  ): Promise<readonly ApplyOutcome[]> {
    const outcomes = new Map<ReplicatedStep, ApplyOutcome>();
    const groups = [...grouped(steps).values()].map(async (own) => {
      const taken = await orOutcome(
        signal,
        () => this.#applyInOrder(own, signal),
        (outcome) => own.map(() => outcome),
      );
      for (const [i, step] of own.entries()) {
        const outcome = taken[i];
        if (outcome) outcomes.set(step, outcome);
      }
    });
    await Promise.all(groups);
    return steps.map((step) => {
      const outcome = outcomes.get(step);
      invariant(outcome !== undefined, 'every step has an outcome');
      return outcome;
    });
  }

  async adopt(
    image: RunImage,
    { repair }: { readonly repair: boolean },
    signal: AbortSignal,
  ): Promise<ApplyOutcome> {
    const ownership = await this.#ownerSoon(image.state, signal);
    if (image.replaces !== undefined) return this.#replace(ownership, image, signal);
    const writer = new ReplicaWriter(ownership, this.#writing);
    try {
      const outcome = await writer.adopt(image, signal);
      if (!repair || outcome.kind !== 'known') return outcome;
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown;
      // What cannot be read stops nothing else: it is parked, and its image comes as a repair.
      if (!repair) return { kind: 'refused', reason: toAtollError(thrown).message };
    }
    const here = await this.#recomputed(ownership, image.state, signal);
    if (!isDamagedBeside(here, image)) return { kind: 'known' };
    return new ReplicaRepair(ownership, this.#writing).replace(image, here, signal);
  }

  async remove(run: RunDigest, signal: AbortSignal): Promise<ApplyOutcome> {
    const ownership = await this.#host.ownership(run, signal);
    const here = await this.#recomputed(ownership, run, signal);
    if (!here || !isSameDigest(here, run)) return { kind: 'known' };
    return new ReplicaRepair(ownership, this.#writing).remove(here, signal);
  }

  /** Only what was accused: what changed since is looked at again by who accused it. */
  async #replace(
    ownership: Ownership,
    image: RunImage,
    signal: AbortSignal,
  ): Promise<ApplyOutcome> {
    const here = await this.#recomputed(ownership, image.state, signal);
    const accused = image.replaces === 'nothing' ? undefined : image.replaces;
    if (!isSameDigest(here, accused)) return { kind: 'known' };
    return new ReplicaRepair(ownership, this.#writing).replace(image, here, signal);
  }

  #recomputed(
    ownership: Ownership,
    { namespaceId, workflowId, runId }: RunRef,
    signal: AbortSignal,
  ): Promise<RunDigest | undefined> {
    const ref = { namespaceId, workflowId, runId };
    return this.#digests.read(ownership, ref, { recompute: true, signal });
  }

  async image(run: RunRef, signal: AbortSignal): Promise<RunImage> {
    const ownership = await this.#host.ownership(run, signal);
    const found = await this.#source.read(ownership, run, signal);
    await orAbort(ownership.log.prove(), signal);
    if (!found) throw executionNotFound(run);
    const { state, current, ledger } = found;
    const events = await this.#source.events(ownership, found, 0, signal);
    return { state, events, current, ledger };
  }

  async runsOf(
    ask: AskRuns,
    page: { readonly after?: string | undefined; readonly limit: number },
    signal: AbortSignal,
  ): Promise<RunsOfShard> {
    const { shard, namespaceId, afterSeq } = ask;
    const ownership = await this.#host.ownershipOf(shard, signal);
    const asOf = ownership.log.committed;
    const inMemory = page.after === undefined && ownership.memory.changedAfter(afterSeq);
    if (inMemory) {
      const durable = inMemory.filter(({ committed }) => committed !== undefined);
      return { runs: durable.map(({ ref }) => ref).filter(isOf(namespaceId)), asOf };
    }
    // Views lag behind memory: what no checkpoint holds yet comes with the first page.
    const cached = page.after === undefined ? cachedRuns(ownership, ask) : [];
    const { rows, next } = await bounded(this.#clock, this.#deadlineMs, (deadline) =>
      this.#views.runsOf(shard, { namespaceId, afterSeq }, page, deadline),
    );
    const stored = rows.map(({ workflowId, runId }) => ({ namespaceId, workflowId, runId }));
    return { runs: [...cached, ...stored], asOf, ...(next === undefined ? {} : { next }) };
  }

  async missing(runs: readonly RunRef[], signal: AbortSignal): Promise<readonly RunRef[]> {
    allowManyListeners(signal);
    const found = await Promise.all(runs.map((run) => this.#isHere(run, signal)));
    return runs.filter((_, i) => !found[i]);
  }

  async digests(
    runs: readonly RunRef[],
    options: { readonly recompute: boolean },
    signal: AbortSignal,
  ): Promise<readonly (RunDigest | undefined)[]> {
    allowManyListeners(signal);
    const digests = runs.map((): RunDigest | undefined => undefined);
    const waiting = runs.entries();
    const lane = async () => {
      for (const [i, run] of waiting) {
        const ownership = await this.#host.ownership(run, signal);
        digests[i] = await this.#digests.read(ownership, run, { ...options, signal });
      }
    };
    await Promise.all(Array.from({ length: DIGESTS_AT_ONCE }, lane));
    return digests;
  }

  async logAfter(
    shard: ShardId,
    page: { readonly after: Seq; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly { readonly seq: Seq; readonly steps: readonly ReplicatedStep[] }[]> {
    signal.throwIfAborted();
    const rows = await bounded(this.#clock, this.#deadlineMs, (deadline) =>
      this.#log.rowsAfter(shard, page, deadline),
    );
    return rows.map(({ seq, record }) => ({ seq, steps: decodeRecord(record).steps }));
  }

  async gate(
    ask: { readonly namespaceId: string; readonly moveId: string; readonly revision: number },
    signal: AbortSignal,
  ): Promise<readonly { readonly shard: ShardId; readonly seq: Seq }[]> {
    return Promise.all(
      this.#host.shards.map(async (shard) => {
        const ownership = await this.#host.ownershipOf(shard, signal);
        await orAbort(ownership.standing.gate(ask), signal);
        return { shard, seq: ownership.log.committed };
      }),
    );
  }

  async observe(namespaceId: string, signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#host.shards.map(async (shard) => {
        const ownership = await this.#host.ownershipOf(shard, signal);
        await orAbort(ownership.standing.observed(namespaceId), signal);
      }),
    );
  }

  async #isHere(run: RunRef, signal: AbortSignal): Promise<boolean> {
    const ownership = await this.#host.ownership(run, signal);
    try {
      if (await this.#source.read(ownership, run, signal)) return true;
      if (await isWithoutId(ownership, run)) return true;
    } catch (thrown) {
      if (isDamage(thrown)) return true;
      throw thrown;
    }
    await orAbort(ownership.log.prove(), signal);
    return false;
  }

  /** Waits for an owner no longer than for a statement: the others of the call are to be answered in time. */
  #ownerSoon(target: Target, signal: AbortSignal): Promise<Ownership> {
    const options = { what: 'waiting for a shard', timeoutMs: this.#deadlineMs, parent: signal };
    return withDeadline(this.#clock, options, (inner) => this.#host.ownership(target, inner));
  }

  /** Steps of one workflow id: decided together, told when durable. */
  async #applyInOrder(
    steps: readonly ReplicatedStep[],
    signal: AbortSignal,
  ): Promise<readonly ApplyOutcome[]> {
    const [first] = steps;
    if (!first) return [];
    const ownership = await this.#ownerSoon(first.transition, signal);
    const taken = await new ReplicaWriter(ownership, this.#writing).take(steps, signal);
    // Settled in the order in which they were decided: most of them ride in one batch.
    for (const { durable, whenDurable } of taken) {
      if (durable) await orAbort(durable, signal);
      if (whenDurable) await orAbort(whenDurable(), signal);
    }
    return taken.map(({ outcome }) => outcome);
  }
}

function* cachedRuns(
  ownership: Ownership,
  { namespaceId, afterSeq, held = false }: AskRuns,
): Iterable<RunRef> {
  for (const { ref, dirty, committed, committedSeq } of ownership.memory.cachedRuns()) {
    const isMeant = held ? committed !== undefined : dirty;
    if (isMeant && ref.namespaceId === namespaceId && committedSeq > afterSeq) yield ref;
  }
}

function isOf(namespaceId: string): (ref: RunRef) => boolean {
  return (ref) => ref.namespaceId === namespaceId;
}

/** Steps of one workflow id together, in their order. */
function grouped(steps: readonly ReplicatedStep[]): Map<string, ReplicatedStep[]> {
  const groups = new Map<string, ReplicatedStep[]>();
  for (const step of steps) {
    const key = keyOf(step.transition);
    const group = groups.get(key);
    if (group) group.push(step);
    else groups.set(key, [step]);
  }
  return groups;
}

function keyOf({ namespaceId, workflowId }: RunRef): string {
  return `${namespaceId}/${workflowId}`;
}
