/**
 * The book of a shard's decided and committed steps: applies them to the runs and executions in memory, and knows which
 * of them no checkpoint covers yet. Used by the ownership for what it decides, and by the replay of a takeover.
 *
 * Invariants
 *  1. Steps of a run follow one another without a gap.
 *  2. `committed` and ledger rows move only when the record that holds the step is durable.
 */
import { invariant } from '../../../kernel/invariant.ts';
import {
  endedWith,
  isOlderPointer,
  type CurrentRun,
  type ExecutionChange,
} from '../../history/execution.ts';
import type { RunState } from '../../history/state.ts';
import type { Seq } from '../../storage/shard-log.ts';
import { CachedExecution, CachedRun, type Chunk } from './cached.ts';
import type { RunRef } from '../engine.ts';
import type { Batch, Decided } from '../log/gather.ts';
import type { Adoption, EncodedStep, Removal } from '../log/record-codec.ts';
import type { ShardMemory } from './shard-memory.ts';

export class RunBook {
  readonly dirtyRuns = new Set<CachedRun>();
  readonly dirtyExecutions = new Set<CachedExecution>();
  readonly #memory: ShardMemory;
  readonly #shown: (run: CachedRun) => void;

  /** @param shown told of a run whose committed state visibility shows otherwise */
  constructor(memory: ShardMemory, shown: (run: CachedRun) => void) {
    this.#memory = memory;
    this.#shown = shown;
  }

  get clean(): boolean {
    const { dirtyRuns, dirtyExecutions } = this;
    return dirtyRuns.size + dirtyExecutions.size + this.#memory.removed.size === 0;
  }

  /** What was decided travels in `batch`. */
  decided({ steps = [], adoption, removal }: Decided, batch: Batch): void {
    if (adoption) this.#adopting(adoption, batch);
    if (removal) this.#removing(removal, batch);
    for (const step of steps) {
      const run = this.#runOf(step);
      keepStep(run, step);
      run.pending = batch;
      const { execution: change } = step.transition;
      const execution = change && this.#change(run.ref, change);
      if (execution) execution.pending = batch;
    }
  }

  /** The record that holds this decided step is durable. Returns its run. */
  committed(step: EncodedStep, batch: Batch, seq: Seq): CachedRun {
    const run = this.#memory.peekRun(step.transition);
    invariant(run !== undefined, `run ${step.transition.runId} left memory while it was pending`);
    this.#commitStep(run, step, seq);
    if (run.pending === batch) run.pending = undefined;
    const { execution: change } = step.transition;
    const execution = change && this.#memory.peekExecution(run.ref);
    if (execution) {
      this.#commitExecution(execution, change);
      if (execution.pending === batch) execution.pending = undefined;
    }
    return run;
  }

  /** A step that is durable already: replay at takeover. Returns its run. */
  replayed(step: EncodedStep, seq: Seq): CachedRun {
    const run = this.#runOf(step);
    keepStep(run, step);
    this.#commitStep(run, step, seq);
    return run;
  }

  /** Applies a durable change beside the run: replay at takeover. */
  replayedExecution(ref: RunRef, change: BesideAdoption): void {
    const execution = this.#change(ref, change);
    if (execution) this.#commitExecution(execution, change);
  }

  /** A run is taken over whole from another cell; it travels in `batch`. */
  #adopting(adoption: Adoption, batch: Batch): void {
    const run = this.#adopter(adoption);
    run.pending = batch;
    const change = beside(adoption);
    const execution = change && this.#change(run.ref, change);
    if (execution) execution.pending = batch;
  }

  /** The record that holds this adoption is durable. Returns its run. */
  adopted(adoption: Adoption, batch: Batch, seq: Seq): CachedRun {
    const run = this.#memory.peekRun(adoption.state);
    invariant(run !== undefined, `run ${adoption.state.runId} left memory while it was pending`);
    this.#commitAdoption(run, adoption, seq);
    if (run.pending === batch) run.pending = undefined;
    const change = beside(adoption);
    const execution = change && this.#memory.peekExecution(run.ref);
    if (execution) {
      this.#commitExecution(execution, change);
      if (execution.pending === batch) execution.pending = undefined;
    }
    return run;
  }

  /** An adoption that is durable already: replay at takeover. */
  replayedAdoption(adoption: Adoption, seq: Seq): void {
    this.#commitAdoption(this.#adopter(adoption), adoption, seq);
  }

  /** A run is to be removed; it travels in `batch`. */
  #removing(removal: Removal, batch: Batch): void {
    const run = this.#memory.peekRun(removal);
    if (run) run.pending = batch;
    const execution = removal.execution ? this.#memory.peekExecution(removal) : undefined;
    if (execution) execution.pending = batch;
  }

  /** The record that removes it is durable, now or at a replay. */
  removed(removal: Removal): void {
    const run = this.#memory.peekRun(removal);
    const execution = removal.execution ? this.#memory.peekExecution(removal) : undefined;
    if (run) this.dirtyRuns.delete(run);
    if (execution) this.dirtyExecutions.delete(execution);
    this.#memory.remove(removal);
    run?.wakeWaiters();
  }

  markDirty(run: CachedRun): void {
    run.dirty = true;
    this.dirtyRuns.add(run);
  }

  #runOf({ transition, state }: EncodedStep): CachedRun {
    const { runId, number } = transition;
    const known = this.#memory.peekRun(transition);
    if (known) return known;
    invariant(number === 1, `run ${runId} is not in memory at transition ${number}`);
    return this.#newRun(state);
  }

  #newRun(state: RunState): CachedRun {
    const { namespaceId, workflowId, runId } = state;
    const run = new CachedRun({
      ref: { namespaceId, workflowId, runId },
      head: { ...state, transition: 0 },
      committed: undefined,
      seq: 0 as Seq,
      storedWork: new Map(),
    });
    this.#memory.addRun(run);
    return run;
  }

  /** The run whose newest decided state the adoption is from here on. */
  #adopter(adoption: Adoption): CachedRun {
    const { state, historyId, firstEventId } = adoption;
    const run = this.#memory.peekRun(state) ?? this.#newRun(state);
    run.head = state;
    run.start = undefined;
    // Another branch's events replace ours only once they are durable: until then ours are read.
    if (historyId === run.branch.historyId && firstEventId < state.nextEventId) {
      run.chunks.push(chunkOf(adoption));
    } else if (historyId !== run.branch.historyId) {
      invariant(run.coming === undefined, `run ${state.runId} adopts two branches at once`);
      run.coming = [];
    }
    return run;
  }

  #commitAdoption(run: CachedRun, adoption: Adoption, seq: Seq): void {
    const { branch, committed } = run;
    const { historyId, state } = adoption;
    if (historyId !== branch.historyId) {
      const lost = { historyId: branch.historyId, lineage: committed?.lineage ?? [] };
      run.branch = { historyId, lost: [...branch.lost, lost].slice(-KEPT_BRANCHES) };
      const { historyId: lostId } = branch;
      const unsaved = run.chunks.filter(({ first }) => first > run.savedEventId);
      run.lostChunks = [
        ...run.lostChunks,
        ...unsaved.map((chunk) => ({ historyId: lostId, chunk })),
      ];
      run.chunks = [chunkOf(adoption), ...(run.coming ?? [])];
      run.coming = undefined;
      run.savedEventId = 0;
    }
    run.committed = state;
    run.committedSeq = seq;
    this.markDirty(run);
    if (showsOtherwise(committed, state)) this.#shown(run);
  }

  #change(ref: RunRef, change: BesideAdoption): CachedExecution | undefined {
    let execution = this.#memory.peekExecution(ref);
    if (!execution && change.current) {
      execution = new CachedExecution({
        namespaceId: ref.namespaceId,
        workflowId: ref.workflowId,
        current: change.current,
        committed: false,
        ledger: this.#memory.newLedger(),
        viewSeq: 0 as Seq,
      });
      this.#memory.addExecution(execution);
    }
    if (!execution) return undefined;
    execution.current = pointed(execution.current, change);
    for (const requestId of change.forgotten ?? []) execution.forgetEntry(requestId);
    for (const entry of change.ledger ?? []) execution.addEntry(entry);
    return execution;
  }

  #commitStep(run: CachedRun, step: EncodedStep, seq: Seq): void {
    const before = run.committed;
    run.committed = step.state;
    run.committedSeq = seq;
    this.markDirty(run);
    if (showsOtherwise(before, step.state)) this.#shown(run);
  }

  #commitExecution(execution: CachedExecution, change: BesideAdoption): void {
    execution.committedCurrent = pointed(execution.committedCurrent, change);
    for (const requestId of change.forgotten ?? []) execution.commitForgotten(requestId);
    for (const entry of change.ledger ?? []) execution.commitEntry(entry);
    execution.dirty = true;
    this.dirtyExecutions.add(execution);
  }
}

/** Names of losing branches that a run row keeps (P11); the rows of older ones stay, unnamed. */
const KEPT_BRANCHES = 16;

function chunkOf({ firstEventId, state, events }: Adoption): Chunk {
  return { first: firstEventId, last: state.nextEventId - 1, events };
}

/**
 * What an adoption changes beside its run: beyond what a transition can, it takes entries out of the ledger, and its pointer
 * counts whatever was there.
 */
type BesideAdoption = ExecutionChange & { readonly forgotten?: readonly string[] | undefined };

/**
 * Where the workflow id points after a change. Steps of two lanes may come in any order: the newest pointer stays, and says
 * that its run has ended once that is heard of.
 */
function pointed<Pointer extends CurrentRun | undefined>(
  known: Pointer,
  { current, forgotten }: BesideAdoption,
): Pointer | CurrentRun {
  if (!current) return known;
  if (!known || forgotten || !isOlderPointer(current, known)) return current;
  return endedWith(known, current) ?? known;
}

/** Undefined: nothing. */
export function beside({ current, ledger, forgotten }: Adoption): BesideAdoption | undefined {
  if (!current && ledger.length === 0 && forgotten.length === 0) return undefined;
  return { ...(current ? { current } : {}), ledger, forgotten };
}

/** What visibility shows of a run changes with its start, its end, its memo and its attributes only. */
function showsOtherwise(before: RunState | undefined, after: RunState): boolean {
  return (
    before?.status !== after.status ||
    before.memo !== after.memo ||
    before.searchAttributes !== after.searchAttributes
  );
}

function keepStep(run: CachedRun, step: EncodedStep): void {
  const { transition, state } = step;
  invariant(
    transition.number === run.head.transition + 1,
    `run ${transition.runId}: transition ${transition.number} after ${run.head.transition}`,
  );
  run.head = state;
  if (step.firstEventId === 0) return;
  const chunk = { first: step.firstEventId, last: step.lastEventId, events: step.events };
  (run.coming ?? run.chunks).push(chunk);
}
