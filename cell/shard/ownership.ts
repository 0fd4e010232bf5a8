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
import { decide, decideStart, isOfOlderEpoch, pendingWork } from '../history/history.ts';
import type { RunInput, StartInput } from '../history/input.ts';
import type { RunState } from '../history/state.ts';
import type { OfferedTask } from '../matching/matching.ts';
import type { RangeId, Seq, SessionId, ShardId } from '../storage/shard-log.ts';
import type { CachedExecution, CachedRun } from './cached.ts';
import { DueInputs } from './due-inputs.ts';
import type { Ending } from './ending.ts';
import type { CallContext, RunRef, Target } from './engine.ts';
import type { Batch, Decided } from './gather.ts';
import type { HostParts } from './host-parts.ts';
import { dueMark, isActing, type Mark } from './mark.ts';
import { NamespaceMarks } from './namespace-marks.ts';
import { decodeNotes, encodeNotes } from './notes.ts';
import { OwnedLog } from './owned-log.ts';
import { encodeStep } from './record-codec.ts';
import { executionNotFound, notActing } from './refusals.ts';
import { RunBook } from './run-book.ts';
import { RunIndexing } from './run-indexing.ts';
import { ShardMemory, type Found } from './shard-memory.ts';
import { WorkDriver } from './work-driver.ts';

/** Loads of one target before its caller is told that memory is short. */
const MOST_LOADS = 20;

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
  readonly driver: WorkDriver;
  readonly indexing: RunIndexing;
  readonly marks = new NamespaceMarks();
  readonly #parts: HostParts;
  readonly #due: DueInputs;
  readonly #onEnd: (ending: Ending) => void;
  readonly #onActing: () => void;
  #lastAt: number;

  constructor(options: OwnershipOptions) {
    const { shard, range, parts } = options;
    const { clock, config, log, matching, loader } = parts;
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
    this.memory = new ShardMemory({ shard, loader, config });
    this.indexing = new RunIndexing({
      writer: parts.index,
      clock,
      markDirty: (run) => this.#markDirty(run),
      readTasks: () => options.onRefill('tasks'),
    });
    this.book = new RunBook(this.memory, (run) => this.indexing.want(run));
    for (const mark of decodeNotes(options.notes).marks) this.marks.replayed(mark);
    const due = new DueInputs(this, { clock, log, epochOf: parts.epochOf, beganAt: this.#lastAt });
    this.#due = due;
    this.driver = new WorkDriver({
      shard: {
        now: () => this.now(),
        send: (run, input) => due.send(run, input),
        refill: options.onRefill,
      },
      clock,
      matching,
      log,
      config,
      timerRang: parts.timerRang,
    });
  }

  get ended(): AtollError | undefined {
    return this.log.ended;
  }

  /** The last seq that the store acknowledged. */
  get committed(): Seq {
    return this.log.committed;
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
    await this.log.admit(call.signal);
    return this.at(target, call.signal, async (found) => {
      const { run } = found;
      const { ledger } = found.execution;
      const decision = () =>
        decide(run.live, input, { ...this.#context(target, run.head, call.epoch), ledger });
      const reply = await this.#carryOut(target, { decide: decision, shown: found }, call.signal);
      return { runId: run.ref.runId, reply };
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

  /**
   * Proof of ownership that begins now, and durability of what is shown (PROTOCOLS 4). The namespace must act here once
   * the proof is there: then nobody else had acknowledged anything of it when the proof began (PROTOCOLS 8.1).
   */
  async prove(namespaceId: string, { run, execution }: Shown, signal: AbortSignal): Promise<void> {
    const durable = [run?.pending?.committed, execution?.pending?.committed];
    await orAbort(Promise.all([this.log.prove(), ...durable]), signal);
    this.log.assertOwned();
    this.assertActing(namespaceId);
  }

  /** Whether work of the namespace begins here: its newest mark, if any, is durable and says so. */
  drives(namespaceId: string): boolean {
    const { marks } = this;
    return this.#acts(namespaceId) && marks.isSettled(namespaceId);
  }

  /**
   * Writes the mark that the map asks for, if one is due (PROTOCOLS 8.4, 8.5); then refuses unless the namespace acts here.
   * Errors: `unavailable`, with trailers that tell a router where to go or that it is to hold the call.
   */
  assertActing(namespaceId: string): void {
    this.settle(namespaceId);
    if (this.#acts(namespaceId)) return;
    const mark = this.marks.get(namespaceId);
    throw notActing(namespaceId, mark, this.#parts.placementOf(namespaceId));
  }

  /** Writes the mark that the map asks for, if one is due. */
  settle(namespaceId: string): void {
    if (this.ended) return;
    const placement = this.#parts.placementOf(namespaceId);
    const mark = dueMark(namespaceId, this.marks.get(namespaceId), placement);
    if (mark) this.mark(mark);
  }

  /** Writes a mark; from here on its refusals count, and once it is durable what it allows begins. */
  mark(mark: Mark): Batch {
    const batch = this.append({ mark });
    if (mark.kind !== 'acting') this.#stopActing(mark);
    return batch;
  }

  /**
   * Closes the namespace for a planned move (PROTOCOLS 8.1); resolves once the gate is durable. Asked again it is the same.
   * Errors: `failed-precondition` when the map of this cell does not show that handover.
   */
  async gate(ask: {
    readonly namespaceId: string;
    readonly moveId: string;
    readonly revision: number;
  }): Promise<void> {
    const { namespaceId, moveId, revision } = ask;
    this.log.assertOwned();
    const mark = this.marks.get(namespaceId);
    if (mark?.kind === 'gated' && mark.moveId === moveId) return this.observed(namespaceId);
    const placement = this.#parts.placementOf(namespaceId);
    if (!placement?.active || !placement.handover || placement.revision < revision) {
      throw new AtollError(
        'failed-precondition',
        `namespace ${namespaceId} is not in handover from here by revision ${placement?.revision ?? 0} of the fleet map: look at the move again`,
      );
    }
    const { epoch } = placement;
    await this.mark({ kind: 'gated', namespaceId, moveId, epoch, revision }).committed;
  }

  /** Writes what the map asks for; resolves once the newest mark of the namespace is durable. */
  async observed(namespaceId: string): Promise<void> {
    this.log.assertOwned();
    this.settle(namespaceId);
    if (!this.marks.isSettled(namespaceId)) await this.log.flushed();
  }

  /** The epoch in which the namespace is decided on here. */
  epochOf(namespaceId: string): number {
    return Math.max(
      this.marks.get(namespaceId)?.epoch ?? 0,
      this.#parts.placementOf(namespaceId)?.epoch ?? 0,
    );
  }

  /** What a checkpoint notes beside the views: durable marks, and positions of lanes. */
  notes(): Uint8Array | undefined {
    return encodeNotes({
      marks: this.marks.durable(),
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
    return { ...this.#context(run.ref, run.head, this.epochOf(namespaceId)), ledger };
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

  /** Holds the run's work against the driver's register. Returns how much was missing there. */
  syncWork(run: CachedRun): number {
    const state = run.committed;
    if (!state || this.ended) return 0;
    const { namespaceId } = run.ref;
    if (!this.drives(namespaceId)) return this.driver.sync(run.ref, []);
    if (!run.failingOver && this.isOfOlderEpoch(state)) {
      run.failingOver = true;
      void this.#due.send(run.ref, { kind: 'fail-over' });
    }
    return this.driver.sync(run.ref, pendingWork(state, run.liveStart(state)));
  }

  /** Holds the work of a run that memory does not have against the driver's register. */
  syncStored(ref: RunRef, state: RunState): number {
    if (!this.drives(ref.namespaceId)) return this.driver.sync(ref, []);
    if (this.isOfOlderEpoch(state)) void this.#due.send(ref, { kind: 'fail-over' });
    return this.driver.sync(ref, pendingWork(state));
  }

  /** Its workflow task was started, durably, before the namespace became active here (BEHAVIOURS 26). */
  isOfOlderEpoch(state: RunState): boolean {
    const mark = this.marks.get(state.namespaceId);
    return mark?.kind === 'acting' && isOfOlderEpoch(state, mark.epoch);
  }

  /** A task left matching and its start was obsolete: offered again if the state still wants it (P7). */
  offerAgain(run: CachedRun, task: OfferedTask): void {
    this.driver.left(run.ref, task);
    this.syncWork(run);
  }

  /** The run has no work any more: it is not there. */
  forgetWork(ref: RunRef): void {
    this.driver.sync(ref, []);
  }

  #start(
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
    return this.#carryOut(target, { decide: decision, shown }, call.signal);
  }

  #context(
    { namespaceId }: Target,
    state: RunState | undefined,
    epoch: number,
  ): Omit<DecideContext, 'ledger'> {
    const marked = this.marks.get(namespaceId)?.epoch ?? 0;
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
  ): Promise<Reply> {
    this.log.assertRoom();
    this.assertActing(namespaceId);
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
        this.syncWork(run);
        if (run.pending) await orAbort(run.pending.committed, signal);
        return decision.reply;
      }
      case 'answer':
        await this.prove(namespaceId, shown, signal);
        return decision.reply;
      case 'refuse':
        await this.prove(namespaceId, shown, signal);
        throw decision.error;
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
    this.book.decided(steps, batch);
    for (const { transition } of steps) this.sawRecordAt(transition.at);
    if (adoption) {
      this.book.adopting(adoption, batch);
      this.sawRecordAt(adoption.state.lastAt);
    }
    if (mark) this.marks.decided(mark);
    return batch;
  }

  #acts(namespaceId: string): boolean {
    return isActing(this.marks.get(namespaceId), this.#parts.placementOf(namespaceId));
  }

  /** Nothing of the namespace is driven here any more, and whoever waits for it is told. */
  #stopActing(mark: Mark): void {
    const { namespaceId, revision } = mark;
    this.driver.forgetNamespace(namespaceId);
    this.#parts.stoppedActing(namespaceId, revision);
    const refusal = notActing(namespaceId, mark, this.#parts.placementOf(namespaceId));
    for (const run of this.memory.cachedRuns()) {
      if (run.ref.namespaceId !== namespaceId) continue;
      run.queries?.fail(refusal);
      run.wakeWaiters();
    }
  }

  /** The mark that lets the namespace act is durable: everything of it is driven from here (P7). */
  #beginActing(namespaceId: string): void {
    this.#due.promoted(namespaceId, this.now());
    for (const run of this.memory.cachedRuns()) {
      if (run.ref.namespaceId !== namespaceId) continue;
      run.granted = false;
      run.failingOver = false;
      this.syncWork(run);
    }
    this.driver.rereadTimers();
    this.#onActing();
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
    for (const mark of batch.marks) this.marks.committed(mark);
    this.#parts.lanes.committed(this.shard, seq, batch.steps);
    for (const run of touched) {
      this.syncWork(run);
      run.wakeWaiters();
      this.#parts.queries.committed(run);
    }
    for (const { namespaceId } of batch.marks) {
      if (this.drives(namespaceId)) this.#beginActing(namespaceId);
    }
    this.#parts.dirty();
  }

  #markDirty(run: CachedRun): void {
    this.book.markDirty(run);
    this.#parts.dirty();
  }

  #wasEnded(ending: Ending): void {
    this.driver.stop();
    for (const run of this.memory.cachedRuns()) {
      if (this.ended) run.queries?.fail(this.ended);
      run.wakeWaiters();
    }
    this.#onEnd(ending);
  }
}

/** A refusal may be thrown deep inside a decision: it is told like any other. */
function orRefusal(decide: () => Decision): Decision {
  try {
    return decide();
  } catch (error) {
    if (error instanceof AtollError) return { kind: 'refuse', error };
    throw error;
  }
}

function memoryShort(shard: ShardId): AtollError {
  return new AtollError(
    'resource-exhausted',
    `shard ${shard} forgets runs as fast as it loads them (cachedRunLimit): try again in a moment`,
  );
}
