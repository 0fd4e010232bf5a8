/**
 * All shards of one host behind the Replicas port (D9): finds the owner of what a lane brings or asks for.
 *
 * Invariants
 *  1. Steps of one run are decided one after another, those of different runs at once; an outcome is told once all that it
 *     rests on is durable.
 *  2. An image, a digest and a "nothing there" are proven current (PROTOCOLS 4).
 */
import type { Clock } from '../../kernel/clock.ts';
import { orAbort } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { Seq, ShardId, ShardLog } from '../storage/shard-log.ts';
import type { ShardViews } from '../storage/views.ts';
import { bounded } from './bounded.ts';
import type { RunRef, Target } from './engine.ts';
import { LossBook } from './loss-book.ts';
import type { Ownership } from './ownership.ts';
import { decodeRecord } from './record-codec.ts';
import { executionNotFound } from './refusals.ts';
import { ReplicaWriter } from './replica-writer.ts';
import type { Loss } from './loss.ts';
import type {
  LaneFeed,
  ApplyOutcome,
  ReplicatedStep,
  Replicas,
  RunDigest,
  RunImage,
} from './replicas.ts';
import { chained, executionHash, NO_EVENTS, stateHash } from './run-digest.ts';
import { RunSource, type WholeRun } from './run-source.ts';

/** What it needs of the host. */
export interface OwnedShards {
  readonly shardCount: number;
  ownership(target: Target, signal: AbortSignal): Promise<Ownership>;
  ownershipOf(shard: ShardId, signal: AbortSignal): Promise<Ownership>;
  readonly shards: readonly ShardId[];
}

const LOG_ROWS = 200;
/** Digests of one call that may read at the same time: a page is more than a database connection lets wait. */
const DIGESTS_AT_ONCE = 16;

export class ShardReplicas implements Replicas {
  readonly #host: OwnedShards;
  readonly #log: ShardLog;
  readonly #views: ShardViews;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #source: RunSource;
  readonly #writing: {
    readonly rng: Rng;
    readonly losses: LossBook;
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
    /** Told of what a forced failover cost, as it shows. */
    readonly lossOf: (loss: Loss) => void;
  }) {
    this.#host = options.host;
    this.#log = options.log;
    this.#views = options.views;
    this.#clock = options.clock;
    this.#deadlineMs = options.statementDeadlineMs;
    this.#source = new RunSource(options.views, options.clock, options.statementDeadlineMs);
    const losses = new LossBook(options.lossOf);
    this.#writing = { rng: options.rng, losses, source: this.#source, lanes: options.lanes };
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
      const taken = await this.#applyInOrder(own, signal);
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
    const ownership = await this.#host.ownership(image.state, signal);
    const writer = new ReplicaWriter(ownership, this.#writing);
    const outcome = await writer.adopt(image, signal);
    if (!repair || outcome.kind !== 'known') return outcome;
    if (!(await this.#isDamaged(image, signal))) return outcome;
    return writer.repair(image, signal);
  }

  /** Whether what is stored here of the run ends where the image does, and differs all the same. */
  async #isDamaged(image: RunImage, signal: AbortSignal): Promise<boolean> {
    const { state, events, current, ledger } = image;
    const { namespaceId, workflowId, runId } = state;
    const here = await this.#digest(
      { namespaceId, workflowId, runId },
      { recompute: true },
      signal,
    );
    if (here?.transition !== state.transition || here.epoch !== state.epoch) return false;
    const chain = events.reduce((sum, chunk) => chained(sum, chunk), NO_EVENTS);
    return (
      here.history !== chain.hash.toString('hex') ||
      here.state !== stateHash(state) ||
      here.execution !== executionHash(current, ledger)
    );
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
    ask: { readonly shard: ShardId; readonly namespaceId: string; readonly afterSeq: Seq },
    page: { readonly after?: string | undefined; readonly limit: number },
    signal: AbortSignal,
  ): Promise<{ readonly runs: readonly RunRef[]; readonly next?: string | undefined }> {
    const { shard, namespaceId, afterSeq } = ask;
    const ownership = await this.#host.ownershipOf(shard, signal);
    // Views lag behind memory: what no checkpoint holds yet comes with the first page.
    const unsaved = page.after === undefined ? unsavedRuns(ownership, ask) : [];
    const { rows, next } = await bounded(this.#clock, this.#deadlineMs, (deadline) =>
      this.#views.runsOf(shard, { namespaceId, afterSeq }, page, deadline),
    );
    const stored = rows.map(({ workflowId, runId }) => ({ namespaceId, workflowId, runId }));
    return { runs: [...unsaved, ...stored], ...(next === undefined ? {} : { next }) };
  }

  async digests(
    runs: readonly RunRef[],
    options: { readonly recompute: boolean },
    signal: AbortSignal,
  ): Promise<readonly (RunDigest | undefined)[]> {
    const digests = runs.map((): RunDigest | undefined => undefined);
    const waiting = runs.entries();
    const lane = async () => {
      for (const [i, run] of waiting) digests[i] = await this.#digest(run, options, signal);
    };
    await Promise.all(Array.from({ length: DIGESTS_AT_ONCE }, lane));
    return digests;
  }

  async logAfter(
    shard: ShardId,
    after: Seq,
    signal: AbortSignal,
  ): Promise<readonly { readonly seq: Seq; readonly steps: readonly ReplicatedStep[] }[]> {
    signal.throwIfAborted();
    const page = { after, limit: LOG_ROWS };
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

  /** Steps of one workflow id: decided together, told when durable. */
  async #applyInOrder(
    steps: readonly ReplicatedStep[],
    signal: AbortSignal,
  ): Promise<readonly ApplyOutcome[]> {
    const [first] = steps;
    if (!first) return [];
    const ownership = await this.#host.ownership(first.transition, signal);
    const taken = await new ReplicaWriter(ownership, this.#writing).take(steps, signal);
    // Settled in the order in which they were decided: most of them ride in one batch.
    for (const { durable, whenDurable } of taken) {
      if (durable) await orAbort(durable, signal);
      whenDurable?.();
    }
    return taken.map(({ outcome }) => outcome);
  }

  async #digest(
    ref: RunRef,
    { recompute }: { readonly recompute: boolean },
    signal: AbortSignal,
  ): Promise<RunDigest | undefined> {
    const ownership = await this.#host.ownership(ref, signal);
    // What memory holds only to be quick is read again from the store: damage shows there.
    if (recompute) ownership.memory.forget(ref);
    const found = await this.#source.read(ownership, ref, signal);
    if (!found) {
      await orAbort(ownership.log.prove(), signal);
      return undefined;
    }
    const { state, current, ledger } = found;
    return {
      ...ref,
      transition: state.transition,
      epoch: state.epoch,
      history: await this.#chain(ownership, found, { recompute, signal }),
      state: stateHash(state),
      execution: executionHash(current, ledger),
    };
  }

  /** The chain up to the state's last event, from where it was computed last. */
  async #chain(
    ownership: Ownership,
    whole: WholeRun,
    how: { readonly recompute: boolean; readonly signal: AbortSignal },
  ): Promise<string> {
    const { state, historyId } = whole;
    const cached = how.recompute ? undefined : ownership.memory.peekRun(state)?.chain;
    const last = state.nextEventId - 1;
    const usable = cached?.historyId === historyId && cached.chain.lastEventId <= last;
    const from = usable ? cached.chain : NO_EVENTS;
    const events = await this.#source.events(ownership, whole, from.lastEventId, how.signal);
    const chain = events.reduce((sum, chunk) => chained(sum, chunk), from);
    if (chain.lastEventId !== last) {
      throw new AtollError('data-loss', `history of run ${state.runId} lacks event ${last}`);
    }
    const run = ownership.memory.peekRun(state);
    if (run) run.chain = { historyId, chain };
    return chain.hash.toString('hex');
  }
}

function* unsavedRuns(
  ownership: Ownership,
  { namespaceId, afterSeq }: { readonly namespaceId: string; readonly afterSeq: Seq },
): Iterable<RunRef> {
  for (const { ref, dirty, committedSeq } of ownership.memory.cachedRuns()) {
    if (dirty && ref.namespaceId === namespaceId && committedSeq > afterSeq) yield ref;
  }
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
