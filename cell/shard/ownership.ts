/**
 * One ownership of a shard, from its takeover row on: decides on the newest state, gathers what was decided, appends it,
 * and lets nothing out before it is durable (D2, PROTOCOLS 1, 4).
 *
 * Invariants
 *  1. One append in flight; batch k+1 may be decided on batch k, but replies and effects wait for their own seq.
 *  2. Whoever gets an answer that needed no append gets it after a proof of ownership that began after he asked (P13).
 *  3. Once `ended`, nothing is decided or appended any more; everybody waiting is told.
 *  4. `now` never falls below the shard's last record or the run's last transition (D16).
 */
import type { Clock } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Log } from '../../kernel/log.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { DecideContext, Decision, HistoryLimits, Reply, Step } from '../history/decision.ts';
import type { ExecutionChange } from '../history/execution.ts';
import { decide, decideStart, indexRow, pendingWork } from '../history/history.ts';
import type { RunInput, StartInput } from '../history/input.ts';
import type { ExecutionState, RunState } from '../history/state.ts';
import type { Matching } from '../matching/matching.ts';
import type {
  Claim,
  LogRow,
  RangeId,
  Seq,
  SessionId,
  ShardId,
  Verdict,
} from '../storage/shard-log.ts';
import { orAborted } from './bounded.ts';
import { CachedExecution, CachedRun } from './cached.ts';
import type { ShardConfig } from './config.ts';
import type { CallContext, RunRef, Target } from './engine.ts';
import { Gather, type Batch } from './gather.ts';
import type { IndexWriter } from './index-writer.ts';
import type { AppendSource, LogWriter, Settlement } from './log-writer.ts';
import type { QueryDesk } from './query-desk.ts';
import type { Provable, ReadBarrier } from './read-barrier.ts';
import { encodeRecord, encodeStep, type EncodedStep } from './record-codec.ts';
import { ShardMemory, type Found } from './shard-memory.ts';
import type { ViewLoader } from './view-loader.ts';
import { WorkDriver, type DrivenShard } from './work-driver.ts';
import { executionNotFound } from './refusals.ts';

/** What all shards of a host share. */
export type HostParts = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly config: ShardConfig;
  readonly limits: HistoryLimits;
  readonly matching: Matching;
  readonly writer: LogWriter;
  readonly barrier: ReadBarrier;
  readonly loader: ViewLoader;
  readonly index: IndexWriter;
  readonly queries: QueryDesk;
  /** The namespace's epoch by this cell's map; for inputs that no call brought. */
  epochOf(namespaceId: string): number;
  /** There is something to checkpoint. */
  dirty(): void;
};

/** How an ownership ends. `again`: memory is dropped and the shard takes over from itself (PROTOCOLS 1). */
export type Ending =
  | { readonly kind: 'lost'; readonly to: RangeId }
  | { readonly kind: 'hole' }
  | { readonly kind: 'again'; readonly cause: unknown }
  | { readonly kind: 'broken'; readonly cause: unknown }
  | { readonly kind: 'closed' };

const INDEX_WORK = 'i';

export class Ownership implements AppendSource, Provable, DrivenShard {
  readonly shard: ShardId;
  readonly range: RangeId;
  readonly memory: ShardMemory;
  readonly driver: WorkDriver;
  /** When this ownership began, by the shard's time: older heartbeat clocks get one full interval (PROTOCOLS 2.5). */
  readonly beganAt: number;
  readonly dirtyRuns = new Set<CachedRun>();
  readonly dirtyExecutions = new Set<CachedExecution>();
  session: SessionId;
  committed: Seq;
  checkpoint: Seq;
  readonly #parts: HostParts;
  readonly #gather: Gather;
  readonly #onEnd: (ending: Ending) => void;
  readonly #onRefill: (what: 'timers' | 'tasks') => void;
  #inFlight: { readonly row: LogRow; readonly batch: Batch } | undefined;
  #lastAt: number;
  #ended: AtollError | undefined;
  #roomWaiters: (() => void)[] = [];

  constructor(options: {
    readonly shard: ShardId;
    readonly range: RangeId;
    readonly committed: Seq;
    readonly checkpoint: Seq;
    readonly session: SessionId;
    readonly parts: HostParts;
    readonly onEnd: (ending: Ending) => void;
    readonly onRefill: (what: 'timers' | 'tasks') => void;
  }) {
    this.shard = options.shard;
    this.range = options.range;
    this.committed = options.committed;
    this.checkpoint = options.checkpoint;
    this.session = options.session;
    this.#parts = options.parts;
    this.#onEnd = options.onEnd;
    this.#onRefill = options.onRefill;
    const { clock, config, log, matching, loader } = options.parts;
    this.#lastAt = clock.now();
    this.beganAt = this.#lastAt;
    this.#gather = new Gather(config.gatherLimit, config.appendStatementBytes);
    this.memory = new ShardMemory({ shard: this.shard, loader, config });
    this.driver = new WorkDriver({ shard: this, clock, matching, log, config });
  }

  get ended(): AtollError | undefined {
    return this.#ended;
  }

  now(): number {
    return Math.max(this.#parts.clock.now(), this.#lastAt);
  }

  /** The shard's time must not fall below what its log holds (D16). */
  sawRecordAt(at: number): void {
    this.#lastAt = Math.max(this.#lastAt, at);
  }

  // ---- asking ---------------------------------------------------------------------------------------------------

  async start(target: Target, input: StartInput, call: CallContext): Promise<Reply> {
    await this.#admit(call.signal);
    const execution = await this.memory.execution(target);
    const current = execution?.current;
    const run =
      current && current.closedAt === undefined
        ? await this.memory.run({ ...target, runId: current.runId })
        : undefined;
    this.#assertOwned();
    // Another start may have made the execution while this one waited for its load.
    const known = this.memory.peekExecution(target);
    if (known !== execution || known?.current !== current) return this.start(target, input, call);
    const ledger = execution?.ledger ?? this.memory.newLedger();
    if (!ledger.find(input.requestId)) ledger.assertRoomForStart(target.workflowId, this.now());
    const decision = this.#guard(() =>
      decideStart(
        {
          namespaceId: target.namespaceId,
          workflowId: target.workflowId,
          ...(execution ? { execution: executionState(execution) } : {}),
          ...(run ? { current: liveRun(run) } : {}),
        },
        input,
        { ...this.#context(run?.head, call.epoch), ledger },
      ),
    );
    return this.#conclude(decision, run, call.signal);
  }

  async execute(
    target: Target,
    input: RunInput,
    call: CallContext,
  ): Promise<{ readonly runId: string; readonly reply: Reply }> {
    await this.#admit(call.signal);
    const { execution, run } = await this.find(target, call.signal);
    this.#assertOwned();
    const context = { ...this.#context(run.head, call.epoch), ledger: execution.ledger };
    const decision = this.#guard(() => decide(liveRun(run), input, context));
    const reply = await this.#conclude(decision, run, call.signal);
    return { runId: run.ref.runId, reply };
  }

  /** Execution and run in memory, loaded if need be. Errors: `not-found`, proven current. */
  async find(target: Target, signal: AbortSignal): Promise<Found> {
    this.#assertOwned();
    const execution = this.memory.peekExecution(target) ?? (await this.memory.execution(target));
    const runId = target.runId ?? execution?.current.runId;
    const run =
      execution && runId !== undefined
        ? (this.memory.peekRun({ ...target, runId }) ??
          (await this.memory.run({ ...target, runId })))
        : undefined;
    this.#assertOwned();
    if (execution && run) return { execution, run };
    await this.prove(undefined, signal);
    throw executionNotFound(target);
  }

  /** Proof of ownership that begins now, and durability of what the run shows (PROTOCOLS 4). */
  async prove(run: CachedRun | undefined, signal: AbortSignal): Promise<void> {
    this.#assertOwned();
    const own = run?.pending?.committed;
    const next = this.#gather.next;
    // A batch whose append has not begun proves as much as a look would, and costs nothing.
    const proof = next ? next.committed : this.#parts.barrier.prove(this);
    await orAborted(Promise.all([proof, own]), signal);
    this.#assertOwned();
  }

  /** An input that no call brought: a due clock, a sticky worker that is gone. */
  async send(ref: RunRef, input: RunInput): Promise<void> {
    const never = new AbortController().signal;
    try {
      const { run } = await this.find(ref, never);
      if (input.kind === 'timer-due') await this.#grantHeartbeats(run, input.key);
      const epoch = this.#parts.epochOf(ref.namespaceId);
      await this.execute(ref, input, { signal: never, epoch });
      this.syncWork(run);
    } catch (error) {
      if (this.#ended) return;
      this.#parts.log.warn(
        {
          err: error,
          shard: this.shard,
          workflowId: ref.workflowId,
          runId: ref.runId,
          input: input.kind,
        },
        'a due input was not taken; it is tried again',
      );
      this.#parts.clock.after(1_000, () => {
        if (!this.#ended) void this.send(ref, input);
      });
    }
  }

  refill(what: 'timers' | 'tasks'): void {
    this.#onRefill(what);
  }

  // ---- appending ------------------------------------------------------------------------------------------------

  takeRow(): LogRow | undefined {
    if (this.#ended || this.#inFlight) return undefined;
    const batch = this.#gather.take();
    if (!batch) return undefined;
    const row: LogRow = {
      shard: this.shard,
      seq: (this.committed + 1) as Seq,
      range: this.range,
      nonce: this.#parts.rng.bytes(16),
      takeover: false,
      record: encodeRecord(batch.steps),
    };
    this.#inFlight = { row, batch };
    return row;
  }

  settle(row: LogRow, settlement: Settlement): void {
    if (this.#ended) return;
    invariant(
      this.#inFlight?.row === row,
      `shard ${this.shard}: a row was settled that is not in flight`,
    );
    switch (settlement.kind) {
      case 'committed':
        return this.#committedRow(this.#inFlight.batch, row.seq);
      case 'fenced':
        return this.end({ kind: 'lost', to: settlement.by });
      case 'hole':
        return this.end({ kind: 'hole' });
      case 'gave-up':
        return this.end({ kind: 'again', cause: settlement.cause });
    }
  }

  claim(): Claim {
    return { shard: this.shard, range: this.range, committed: this.committed };
  }

  verified(session: SessionId): void {
    this.session = session;
  }

  disproved(verdict: Exclude<Verdict, { kind: 'mine' }>): AtollError {
    this.end(verdict.kind === 'lost' ? { kind: 'lost', to: verdict.to } : { kind: 'hole' });
    return this.#ended ?? new AtollError('unavailable', 'the shard is not owned here any more');
  }

  /** Ends the ownership: nothing is decided any more, everybody waiting is told (invariant 3). */
  end(ending: Ending): void {
    if (this.#ended) return;
    const cause = 'cause' in ending ? ending.cause : undefined;
    this.#ended = new AtollError('unavailable', describeEnding(this.shard, ending), { cause });
    this.driver.stop();
    this.#inFlight?.batch.abandon(this.#ended);
    this.#gather.abandon(this.#ended);
    for (const run of this.memory.cachedRuns()) {
      run.queries?.fail(this.#ended);
      wakeAll(run);
    }
    this.#wakeRoomWaiters();
    this.#onEnd(ending);
  }

  /** The checkpoint has moved: there may be room in the tail again. */
  checkpointed(to: Seq): void {
    this.checkpoint = to;
    this.memory.trim();
    if (this.#tailRecords < this.#parts.config.tailRecordLimit) this.#wakeRoomWaiters();
  }

  /** Holds the run's work against the driver's register. Returns how much was missing there. */
  syncWork(run: CachedRun): number {
    const state = run.committed;
    if (!state || this.#ended) return 0;
    return this.driver.sync(run.ref, pendingWork(state, run.liveStart(state)));
  }

  /** Has visibility show the run's committed state; until it does, a task row remembers it. */
  wantIndexed(run: CachedRun): void {
    const state = run.committed;
    if (!state) return;
    run.indexWanted = state.transition;
    const accepted = this.#parts.index.add(indexRow(state), () => {
      run.indexed = Math.max(run.indexed, state.transition);
      if (run.storedWork.has(INDEX_WORK)) this.markDirty(run);
    });
    if (!accepted) this.#parts.clock.after(5_000, () => this.refill('tasks'));
  }

  /** A task row says that the index has not acknowledged the run's last change. */
  indexAgain(run: CachedRun): void {
    if (!run.storedWork.has(INDEX_WORK)) {
      run.storedWork = new Map([...run.storedWork, [INDEX_WORK, undefined]]);
    }
    this.wantIndexed(run);
  }

  markDirty(run: CachedRun): void {
    run.dirty = true;
    this.dirtyRuns.add(run);
    this.#parts.dirty();
  }

  /** A step that is durable already: replay at takeover. */
  replayed(step: EncodedStep, seq: Seq): void {
    const run = this.#runOf(step);
    this.#keepStep(run, step);
    this.#commitStep(run, step, seq);
    this.sawRecordAt(step.transition.at);
  }

  /** Applies a durable change beside the run: replay at takeover. */
  replayedExecution(ref: RunRef, change: ExecutionChange): void {
    const execution = this.#changeExecution(ref, change);
    if (execution) this.#commitExecution(execution, change);
  }

  // ---- inside ---------------------------------------------------------------------------------------------------

  get #tailRecords(): number {
    return this.committed - this.checkpoint;
  }

  #assertOwned(): void {
    if (this.#ended) throw this.#ended;
  }

  /** Waits for room in the tail, or refuses: the two bounds in front of the log (P11). */
  async #admit(signal: AbortSignal): Promise<void> {
    this.#assertOwned();
    const { gatherLimit, tailRecordLimit, tailWaiterLimit } = this.#parts.config;
    if (this.#gather.full) throw full(this.shard, `gatherLimit ${gatherLimit}`);
    while (this.#tailRecords >= tailRecordLimit) {
      if (this.#roomWaiters.length >= tailWaiterLimit) {
        throw full(this.shard, `tailWaiterLimit ${tailWaiterLimit}`);
      }
      this.#parts.dirty();
      await orAborted(new Promise<void>((resolve) => this.#roomWaiters.push(resolve)), signal);
      this.#assertOwned();
    }
  }

  #wakeRoomWaiters(): void {
    const waiters = this.#roomWaiters;
    this.#roomWaiters = [];
    for (const wake of waiters) wake();
  }

  #context(state: RunState | undefined, epoch: number): Omit<DecideContext, 'ledger'> {
    return {
      now: Math.max(this.now(), state?.lastAt ?? 0),
      epoch: Math.max(epoch, state?.epoch ?? 0),
      freshRunId: this.#parts.rng.uuid(),
      limits: this.#parts.limits,
    };
  }

  /** A broken invariant inside a decision stops the shard (it is a bug of ours), a refusal does not. */
  #guard(decision: () => Decision): Decision {
    try {
      return decision();
    } catch (error) {
      if (error instanceof AtollError) return { kind: 'refuse', error };
      this.end({ kind: 'broken', cause: error });
      throw this.#ended ?? error;
    }
  }

  async #conclude(
    decision: Decision,
    run: CachedRun | undefined,
    signal: AbortSignal,
  ): Promise<Reply> {
    switch (decision.kind) {
      case 'commit': {
        const batch = this.#append(decision.steps);
        if (run && decision.start) run.start = decision.start;
        await orAborted(batch.committed, signal);
        return decision.reply;
      }
      case 'start': {
        invariant(run !== undefined, 'a workflow task was started of no run');
        run.start = decision.start;
        this.syncWork(run);
        if (run.pending) await orAborted(run.pending.committed, signal);
        return decision.reply;
      }
      case 'answer':
        await this.prove(run, signal);
        return decision.reply;
      case 'refuse':
        await this.prove(run, signal);
        throw decision.error;
    }
  }

  #append(steps: readonly Step[]): Batch {
    this.#assertOwned();
    const encoded = steps.map(({ transition, state }) => encodeStep(transition, state));
    const batch = this.#gather.add(encoded);
    for (const step of encoded) {
      const run = this.#runOf(step);
      this.#keepStep(run, step);
      run.pending = batch;
      const { execution: change } = step.transition;
      const execution = change && this.#changeExecution(run.ref, change);
      if (execution) execution.pending = batch;
      this.sawRecordAt(step.transition.at);
    }
    if (!this.#inFlight) this.#parts.writer.wake(this);
    return batch;
  }

  #runOf({ transition, state }: EncodedStep): CachedRun {
    const { namespaceId, workflowId, runId } = transition;
    const ref = { namespaceId, workflowId, runId };
    const known = this.memory.peekRun(ref);
    if (known) return known;
    invariant(
      transition.number === 1,
      `run ${runId} is not in memory at transition ${transition.number}`,
    );
    const run = new CachedRun({
      ref,
      head: { ...state, transition: 0 },
      committed: undefined,
      seq: 0 as Seq,
      storedWork: new Map(),
    });
    this.memory.addRun(run);
    return run;
  }

  #keepStep(run: CachedRun, step: EncodedStep): void {
    const { transition, state } = step;
    invariant(
      transition.number === run.head.transition + 1,
      `run ${transition.runId}: transition ${transition.number} after ${run.head.transition}`,
    );
    run.head = state;
    if (step.firstEventId === 0) return;
    run.chunks.push({ first: step.firstEventId, last: step.lastEventId, events: step.events });
  }

  #changeExecution(ref: RunRef, change: ExecutionChange): CachedExecution | undefined {
    let execution = this.memory.peekExecution(ref);
    if (!execution && change.current) {
      execution = new CachedExecution({
        namespaceId: ref.namespaceId,
        workflowId: ref.workflowId,
        current: change.current,
        committed: false,
        ledger: this.memory.newLedger(),
        viewSeq: 0 as Seq,
      });
      this.memory.addExecution(execution);
    }
    if (!execution) return undefined;
    if (change.current) execution.current = change.current;
    for (const entry of change.ledger ?? []) {
      const { added, evicted } = execution.ledger.add(entry);
      execution.unsaved.set(entry.requestId, added);
      if (evicted) execution.ledgerDrops.push(evicted);
    }
    return execution;
  }

  #committedRow(batch: Batch, seq: Seq): void {
    this.committed = seq;
    this.#inFlight = undefined;
    const touched = new Set<CachedRun>();
    for (const step of batch.steps) {
      const { namespaceId, workflowId, runId } = step.transition;
      const run = this.memory.peekRun({ namespaceId, workflowId, runId });
      invariant(run !== undefined, `run ${runId} left memory while it was pending`);
      this.#commitStep(run, step, seq);
      if (run.pending === batch) run.pending = undefined;
      touched.add(run);
      const { execution: change } = step.transition;
      const execution = change && this.memory.peekExecution(run.ref);
      if (!execution) continue;
      this.#commitExecution(execution, change);
      if (execution.pending === batch) execution.pending = undefined;
    }
    for (const run of touched) {
      this.syncWork(run);
      wakeAll(run);
      this.#parts.queries.committed(this, run);
    }
    batch.commit();
    this.#parts.dirty();
    if (this.#gather.next) this.#parts.writer.wake(this);
  }

  #commitStep(run: CachedRun, step: EncodedStep, seq: Seq): void {
    const before = run.committed;
    run.committed = step.state;
    run.committedSeq = seq;
    run.dirty = true;
    this.dirtyRuns.add(run);
    if (showsOtherwise(before, step.state)) this.wantIndexed(run);
  }

  #commitExecution(execution: CachedExecution, change: ExecutionChange): void {
    if (change.current) execution.committedCurrent = change.current;
    for (const { requestId } of change.ledger ?? []) execution.commitEntry(requestId);
    execution.dirty = true;
    this.dirtyExecutions.add(execution);
  }

  /** Heartbeat clocks that ran while nobody owned the shard get one full interval (D16, PROTOCOLS 2.5). */
  async #grantHeartbeats(run: CachedRun, key: string): Promise<void> {
    if (run.grantedAt >= this.beganAt || !key.startsWith('at:')) return;
    run.grantedAt = this.beganAt;
    const asleep = [...run.head.activities.values()].some(
      (activity) =>
        activity.started !== undefined &&
        Math.max(activity.started.at, activity.lastHeartbeatAt ?? 0) < this.beganAt,
    );
    if (!asleep) return;
    const epoch = this.#parts.epochOf(run.ref.namespaceId);
    const signal = new AbortController().signal;
    await this.execute(run.ref, { kind: 'grant-heartbeats' }, { signal, epoch });
  }
}

function liveRun(run: CachedRun) {
  const start = run.liveStart(run.head);
  return start ? { state: run.head, start } : { state: run.head };
}

function executionState(execution: CachedExecution): ExecutionState {
  const { namespaceId, workflowId, current, ledger } = execution;
  return { namespaceId, workflowId, current, ledger };
}

/** What visibility shows of a run changes with its start, its end, its memo and its attributes only. */
function showsOtherwise(before: RunState | undefined, after: RunState): boolean {
  return (
    before?.status !== after.status ||
    before.memo !== after.memo ||
    before.searchAttributes !== after.searchAttributes
  );
}

function wakeAll(run: CachedRun): void {
  for (const wake of [...run.waiters]) wake();
}

function full(shard: ShardId, bound: string): AtollError {
  return new AtollError(
    'resource-exhausted',
    `shard ${shard} is at its bound ${bound}: try again in a moment, or add cells`,
  );
}

function describeEnding(shard: ShardId, ending: Ending): string {
  switch (ending.kind) {
    case 'lost':
      return `shard ${shard} was taken over by range ${ending.to}`;
    case 'hole':
      return `shard ${shard} stopped: the store lacks records that it had acknowledged`;
    case 'again':
      return `shard ${shard} does not know what became of its last record; it takes over from itself. Try again.`;
    case 'broken':
      return `shard ${shard} stopped: an invariant is broken`;
    case 'closed':
      return `shard ${shard} is closing`;
  }
}
