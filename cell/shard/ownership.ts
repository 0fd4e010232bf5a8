/**
 * One ownership of a shard, from its takeover row on: decides on the newest state, has the decision appended, and lets
 * nothing out before it is durable (D2, PROTOCOLS 1, 4). The log is owned-log.ts, the memory run-book.ts.
 *
 * Invariants
 *  1. Batch k+1 may be decided on batch k, but replies and effects wait for their own seq.
 *  2. Whoever gets an answer that needed no append gets it after a proof of ownership that began after he asked, and
 *     after all that the answer shows is durable (P13).
 *  3. Once `ended`, nothing is decided or appended any more; everybody waiting is told.
 *  4. `now` never falls below the shard's last record or the run's last transition (D16).
 *  5. What was found in memory is used in the same turn: after a wait it is looked up again.
 */
import { orAbort } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { DecideContext, Decision, Reply, Step } from '../history/decision.ts';
import { decide, decideStart } from '../history/history.ts';
import type { RunInput, StartInput } from '../history/input.ts';
import type { RunState } from '../history/state.ts';
import type { RangeId, Seq, SessionId, ShardId } from '../storage/shard-log.ts';
import type { CachedExecution, CachedRun } from './runs/cached.ts';
import type { Ending } from './ending.ts';
import type { CallContext, Target } from './engine.ts';
import type { Batch, Decided } from './log/gather.ts';
import type { HostParts } from './host-parts.ts';
import { decodeNotes, encodeNotes } from './log/notes.ts';
import { OwnedLog } from './log/owned-log.ts';
import { encodeStep } from './log/record-codec.ts';
import { executionNotFound, memoryShort, orRefusal, orThrow } from './refusals.ts';
import { RunBook } from './runs/run-book.ts';
import { RunIndexing } from './views/run-indexing.ts';
import { ShardWork } from './work/shard-work.ts';
import { ShardStanding } from './shard-standing.ts';
import { ShardMemory, type Found } from './runs/shard-memory.ts';
import { isStray, supersede } from './replicas/supersede.ts';

/** Loads of one target before its caller is told that memory is short. */
const MOST_LOADS = 20;

type Attempted = { readonly runId: string; readonly answer: Reply | AtollError };

export type OwnershipOptions = {
  readonly shard: ShardId;
  readonly range: RangeId;
  readonly committed: Seq;
  readonly checkpoint: Seq;
  readonly session: SessionId;
  readonly parts: HostParts;
  readonly onEnd: (ending: Ending) => void;
  readonly onRefill: (what: 'timers' | 'tasks') => void;
  /** A namespace became active here: what the views hold of it is to be driven. */
  readonly onActing: () => void;
  /** What the last checkpoint noted, if anything. */
  readonly notes: Uint8Array | undefined;
};

/** What an answer shows, beside its own words: all of it must be durable before it leaves. */
type Shown = {
  readonly run?: CachedRun | undefined;
  readonly execution?: CachedExecution | undefined;
};

export class Ownership {
  readonly shard: ShardId;
  readonly range: RangeId;
  readonly log: OwnedLog;
  readonly memory: ShardMemory;
  readonly book: RunBook;
  readonly work: ShardWork;
  readonly indexing: RunIndexing;
  /** How its namespaces stand: asked before anything is decided, proven or driven. */
  readonly standing: ShardStanding;
  readonly #parts: HostParts;
  readonly #onEnd: (ending: Ending) => void;
  readonly #onActing: () => void;
  #lastAt: number;

  constructor(options: OwnershipOptions) {
    const { shard, range, parts } = options;
    const { clock, config, loader } = parts;
    this.shard = shard;
    this.range = range;
    this.#parts = parts;
    this.#onEnd = options.onEnd;
    this.#onActing = options.onActing;
    this.#lastAt = clock.now();
    this.log = new OwnedLog(
      { ...parts, ...options },
      {
        committed: (batch, seq) => this.#committed(batch, seq),
        ended: (ending) => this.#wasEnded(ending),
      },
    );
    this.memory = new ShardMemory({ shard, loader, config, end: options.committed });
    this.indexing = new RunIndexing({
      writer: parts.index,
      clock,
      markDirty: (run) => this.#markDirty(run),
      readTasks: () => options.onRefill('tasks'),
    });
    this.book = new RunBook(this.memory, (run) => this.indexing.want(run));
    this.standing = new ShardStanding(
      {
        placementOf: parts.placementOf,
        append: (mark) => this.append({ mark }),
        isEnded: () => this.ended !== undefined,
        flushed: () => this.log.flushed(),
        stopped: ({ namespaceId, revision }, refusal) => {
          this.work.end(namespaceId, refusal);
          parts.stoppedActing(namespaceId, revision);
        },
      },
      decodeNotes(options.notes).marks,
    );
    this.work = new ShardWork({
      shard: this,
      parts,
      beganAt: this.#lastAt,
      refill: options.onRefill,
    });
  }

  get ended(): AtollError | undefined {
    return this.log.ended;
  }

  cachedRuns(): Iterable<CachedRun> {
    return this.memory.cachedRuns();
  }

  now(): number {
    return Math.max(this.#parts.clock.now(), this.#lastAt);
  }

  /** The shard's time must not fall below what its log holds (D16). */
  sawRecordAt(at: number): void {
    this.#lastAt = Math.max(this.#lastAt, at);
  }

  end(ending: Ending): void {
    this.log.end(ending);
  }

  async start(target: Target, input: StartInput, call: CallContext): Promise<Reply> {
    await this.log.admit(call.signal);
    let absent = false;
    for (let loads = 0; loads < MOST_LOADS; loads += 1) {
      this.log.assertRoom();
      const execution = this.memory.peekExecution(target);
      if (!execution) {
        if (absent) return this.#start(target, input, { call, shown: {} });
        absent = !(await this.memory.loadExecution(target));
        continue;
      }
      const { runId, closedAt } = execution.current;
      const ref = { ...target, runId };
      const run = closedAt === undefined ? this.memory.peekRun(ref) : undefined;
      if (run || closedAt !== undefined) {
        return this.#start(target, input, { call, shown: { execution, run } });
      }
      await this.memory.loadRun(ref);
    }
    throw memoryShort(this.shard);
  }

  async execute(
    target: Target,
    input: RunInput,
    call: CallContext,
  ): Promise<{ readonly runId: string; readonly reply: Reply }> {
    const { runId, answer } = await this.attempt(target, input, call);
    return { runId, reply: orThrow(answer) };
  }

  /** The same, where a refusal of the run itself is an answer, too: proven current. */
  async attempt(target: Target, input: RunInput, call: CallContext): Promise<Attempted> {
    await this.log.admit(call.signal);
    return this.at(target, call.signal, async (found) => {
      const { run } = found;
      const { ledger, current } = found.execution;
      if (isStray(run, current)) {
        await this.supersede(run, call.signal);
        return this.attempt(target, input, call);
      }
      const decision = () =>
        decide(run.live, input, { ...this.#context(target, run.head, call.epoch), ledger });
      const answer = await this.#carryOut(target, { decide: decision, shown: found }, call.signal);
      return { runId: run.ref.runId, answer };
    });
  }

  /**
   * Finds execution and run, loaded if need be, and uses them in the same turn (invariant 5).
   * Errors: `not-found`, proven current.
   */
  async at<T>(
    target: Target,
    signal: AbortSignal,
    use: (found: Found) => T | Promise<T>,
  ): Promise<T> {
    for (let loads = 0; loads < MOST_LOADS; loads += 1) {
      this.log.assertOwned();
      const found = this.memory.peek(target);
      if (found) return use(found);
      if (await this.memory.load(target)) continue;
      await this.prove(target.namespaceId, {}, signal);
      throw executionNotFound(target);
    }
    throw memoryShort(this.shard);
  }

  /** Closes a stray run (PROTOCOLS 9). */
  supersede({ ref }: CachedRun, signal: AbortSignal): Promise<void> {
    return supersede(this, ref, { losses: this.#parts.losses, signal });
  }

  /**
   * Proof of ownership that begins now, and durability of what is shown (PROTOCOLS 4). The namespace must act here once
   * the proof is there: then nobody else had acknowledged anything of it when the proof began (PROTOCOLS 8.1).
   */
  async prove(namespaceId: string, { run, execution }: Shown, signal: AbortSignal): Promise<void> {
    const durable = [run?.pending?.committed, execution?.pending?.committed];
    await orAbort(Promise.all([this.log.prove(), ...durable]), signal);
    this.log.assertOwned();
    this.standing.assertActing(namespaceId);
  }

  /** What a checkpoint notes beside the views: durable marks, and positions of lanes. */
  notes(): Uint8Array | undefined {
    return encodeNotes({
      marks: this.standing.marks.durable(),
      lanes: this.#parts.lanes.position(this.shard),
    });
  }

  /** The log may be cut up to here. */
  releasable(upTo: Seq): Seq {
    return this.#parts.lanes.releasable(this.shard, upTo);
  }

  /** What a decision on a run needs beside it, for one that no call brought. */
  contextOf(run: CachedRun): DecideContext {
    const { namespaceId } = run.ref;
    const ledger = this.memory.peekExecution(run.ref)?.ledger ?? this.memory.newLedger();
    return { ...this.#context(run.ref, run.head, this.standing.epochOf(namespaceId)), ledger };
  }

  /** Takes what was decided, here or in another cell, into the row that gathers. A bug that shows here stops the shard. */
  append(decided: Decided): Batch {
    return this.#guarded(() => this.#append(decided));
  }

  /** The store took a checkpoint up to here. */
  checkpointed(to: Seq): void {
    this.log.checkpointed(to);
    this.memory.trim();
  }

  async #start(
    target: Target,
    input: StartInput,
    asked: { readonly call: CallContext; readonly shown: Shown },
  ): Promise<Reply> {
    const { namespaceId, workflowId } = target;
    const { call, shown } = asked;
    const { execution, run } = shown;
    const ledger = execution?.ledger ?? this.memory.newLedger();
    const scope = {
      namespaceId,
      workflowId,
      ...(execution ? { execution: execution.head } : {}),
      ...(run ? { current: run.live } : {}),
    };
    const decision = () => {
      if (!ledger.find(input.requestId)) ledger.assertRoomForStart(workflowId, this.now());
      return decideStart(scope, input, { ...this.#context(target, run?.head, call.epoch), ledger });
    };
    return orThrow(await this.#carryOut(target, { decide: decision, shown }, call.signal));
  }

  #context(
    { namespaceId }: Target,
    state: RunState | undefined,
    epoch: number,
  ): Omit<DecideContext, 'ledger'> {
    const marked = this.standing.markedEpoch(namespaceId);
    return {
      now: Math.max(this.now(), state?.lastAt ?? 0),
      epoch: Math.max(epoch, state?.epoch ?? 0, marked),
      freshRunId: this.#parts.rng.uuid(),
      limits: this.#parts.limits,
    };
  }

  /** Decides, does what was decided, and answers once all that the answer shows is durable. */
  async #carryOut(
    { namespaceId }: Target,
    { decide, shown }: { readonly decide: () => Decision; readonly shown: Shown },
    signal: AbortSignal,
  ): Promise<Reply | AtollError> {
    this.log.assertRoom();
    this.standing.assertActing(namespaceId);
    const decision = this.#guarded(() => orRefusal(decide));
    switch (decision.kind) {
      case 'commit': {
        const batch = this.#guarded(() => this.#appendDecision(decision));
        await orAbort(batch.committed, signal);
        return decision.reply;
      }
      case 'start': {
        const { run } = shown;
        invariant(run !== undefined, 'a workflow task was started of no run');
        run.start = decision.start;
        this.work.sync(run);
        if (run.pending) await orAbort(run.pending.committed, signal);
        return decision.reply;
      }
      case 'answer':
        await this.prove(namespaceId, shown, signal);
        return decision.reply;
      case 'refuse':
        await this.prove(namespaceId, shown, signal);
        return decision.error;
    }
  }

  /**
   * Runs what may show a bug of ours: that stops the shard, since what is in memory can no longer be trusted. A refusal
   * is an answer.
   */
  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof AtollError) throw cause;
      this.end({ kind: 'broken', cause });
      throw this.ended ?? cause;
    }
  }

  #appendDecision({ steps, start }: Extract<Decision, { kind: 'commit' }>): Batch {
    const encoded = steps.map(({ transition, state }) => encodeStep(transition, state));
    const batch = this.#append({ steps: encoded });
    if (start) this.#runOf(steps).start = start;
    return batch;
  }

  #append(decided: Decided): Batch {
    const batch = this.log.append(decided);
    const { steps = [], adoption, mark } = decided;
    this.book.decided(decided, batch);
    for (const { transition } of steps) this.sawRecordAt(transition.at);
    if (adoption) this.sawRecordAt(adoption.state.lastAt);
    if (mark) this.standing.marks.decided(mark);
    return batch;
  }

  /** The run that a live start belongs to: that of the last step, which for an eager start is the new run. */
  #runOf(steps: readonly Step[]): CachedRun {
    const last = steps.at(-1);
    const run = last && this.memory.peekRun(last.transition);
    invariant(run !== undefined, 'a decision has a last step, whose run is in memory');
    return run;
  }

  #committed(batch: Batch, seq: Seq): void {
    const touched = new Set<CachedRun>();
    for (const step of batch.steps) touched.add(this.book.committed(step, batch, seq));
    for (const adoption of batch.adoptions) touched.add(this.book.adopted(adoption, batch, seq));
    for (const removal of batch.removals) this.book.removed(removal);
    for (const mark of batch.marks) this.standing.marks.committed(mark);
    this.#parts.lanes.committed(this.shard, seq, batch.steps);
    for (const run of touched) {
      this.work.sync(run);
      run.wakeWaiters();
      this.#parts.queries.committed(run);
    }
    for (const { namespaceId } of batch.marks) {
      if (!this.standing.drives(namespaceId)) continue;
      this.work.begin(namespaceId);
      this.#onActing();
    }
    this.#parts.dirty();
  }

  #markDirty(run: CachedRun): void {
    this.book.markDirty(run);
    this.#parts.dirty();
  }

  #wasEnded(ending: Ending): void {
    this.work.driver.stop();
    this.memory.removed.release();
    for (const run of this.memory.cachedRuns()) {
      if (this.ended) run.queries?.fail(this.ended);
      run.wakeWaiters();
    }
    this.#onEnd(ending);
  }
}
