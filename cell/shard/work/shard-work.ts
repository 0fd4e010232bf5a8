/**
 * The pending work of a shard's runs (D5, P7): holds what their states call for against the driver's register, while their
 * namespace acts here; begins it when a namespace becomes active, ends it when it is closed.
 *
 * Invariants
 *  1. Only committed states are driven, and only of namespaces whose standing says so, durably.
 *  2. A workflow task that was started in an older epoch is failed once, before anything else of its run (BEHAVIOURS 26).
 *  3. Nothing of a stray run is driven: it ends (supersede.ts).
 */
import type { AtollError } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import { isOfOlderEpoch, pendingWork, waitsSticky } from '../../history/history.ts';
import type { RunInput } from '../../history/input.ts';
import type { RunState, TaskStart } from '../../history/state.ts';
import type { Work } from '../../history/work.ts';
import type { OfferedTask } from '../../matching/matching.ts';
import type { RunRow } from '../../storage/views.ts';
import type { CachedRun } from '../runs/cached.ts';
import { DueInputs, type AskedShard } from './due-inputs.ts';
import type { RunRef } from '../engine.ts';
import type { HostParts } from '../host-parts.ts';
import type { ShardMemory } from '../runs/shard-memory.ts';
import type { ShardStanding } from '../shard-standing.ts';
import { isStray } from '../replicas/supersede.ts';
import { WorkDriver } from './work-driver.ts';
import { stateOfRow } from '../views/work-rows.ts';

/** What is asked of the ownership. */
export type WorkingShard = Pick<AskedShard, 'execute' | 'at'> & {
  readonly ended: AtollError | undefined;
  readonly standing: ShardStanding;
  readonly memory: Pick<ShardMemory, 'pointerOf'>;
  now(): number;
  cachedRuns(): Iterable<CachedRun>;
};

export type ShardWorkOptions = {
  readonly shard: WorkingShard;
  readonly parts: HostParts;
  /** When the ownership began: older heartbeat clocks get one full interval. */
  readonly beganAt: number;
  readonly refill: (what: 'timers' | 'tasks') => void;
};

export class ShardWork {
  readonly driver: WorkDriver;
  readonly #shard: WorkingShard;
  readonly #log: Log;
  readonly #due: DueInputs;

  constructor({ shard, parts, beganAt, refill }: ShardWorkOptions) {
    const { clock, log, matching, config, epochOf, timerRang } = parts;
    this.#shard = shard;
    this.#log = log;
    this.driver = new WorkDriver({
      shard: { now: () => shard.now(), send: (run, input) => this.#send(run, input), refill },
      clock,
      matching,
      log,
      config,
      timerRang,
    });
    const asked: AskedShard = {
      get ended() {
        return shard.ended;
      },
      execute: (ref, input, call) => shard.execute(ref, input, call),
      at: (ref, signal, use) => shard.at(ref, signal, use),
      syncWork: (run) => this.sync(run),
      forgetWork: (ref) => void this.driver.sync(ref, []),
      driver: this.driver,
      standing: shard.standing,
    };
    this.#due = new DueInputs(asked, { clock, log, epochOf, beganAt });
  }

  /** Holds the run's work against the driver's register. Returns how much was missing there. */
  sync(run: CachedRun): number {
    const state = run.committed;
    if (!state || this.#shard.ended) return 0;
    if (!this.#drives(run.ref)) return this.driver.sync(run.ref, []);
    const stray = isStray(run, this.#shard.memory.pointerOf(run.ref));
    if (!run.failingOver && (stray || this.#isOfOlderEpoch(state))) {
      run.failingOver = true;
      this.failOver(run.ref);
    }
    if (stray) return this.driver.sync(run.ref, []);
    return this.driver.sync(run.ref, this.#work(state, run.liveStart(state)));
  }

  /** The same for a run that memory does not have. One that cannot be read is not driven, and keeps no other from it. */
  syncStored(row: RunRow): number {
    const { namespaceId, workflowId, runId } = row;
    const ref = { namespaceId, workflowId, runId };
    if (!this.#drives(ref)) return this.driver.sync(ref, []);
    let state: RunState;
    try {
      state = stateOfRow(row);
    } catch (err) {
      this.#log.error(
        { err, ...ref },
        'a stored run cannot be read: nothing of it is driven until a replica repairs it',
      );
      return 0;
    }
    if (this.#isOfOlderEpoch(state)) this.failOver(ref);
    return this.driver.sync(ref, this.#work(state));
  }

  /** What the run has of an older epoch ends: its started workflow task, or the run itself if its id was taken since. */
  failOver(ref: RunRef): void {
    void this.#send(ref, { kind: 'fail-over' });
  }

  /** A task left matching and its start was obsolete: offered again if the state still wants it (P7). */
  offerAgain(run: CachedRun, task: OfferedTask): void {
    this.driver.left(run.ref, task);
    this.sync(run);
  }

  /**
   * The mark that lets the namespace act is durable: what waits for a worker is driven from memory. Clocks are read again
   * from the views, page by page, and those that the views do not hold yet after that (view-reader.ts): calls are held
   * while this turn lasts.
   */
  begin(namespaceId: string): void {
    this.#due.promoted(namespaceId, this.#shard.now());
    for (const run of this.#shard.cachedRuns()) {
      if (run.ref.namespaceId !== namespaceId) continue;
      run.granted = false;
      run.failingOver = false;
      if (waitsForWorker(run.committed)) this.sync(run);
    }
    this.driver.rereadTimers();
  }

  /** Nothing of the namespace is driven here any more, and whoever waits for it is told. */
  end(namespaceId: string, refusal: AtollError): void {
    this.driver.forgetNamespace(namespaceId);
    for (const run of this.#shard.cachedRuns()) {
      if (run.ref.namespaceId !== namespaceId) continue;
      run.queries?.fail(refusal);
      run.wakeWaiters();
    }
  }

  #send(run: RunRef, input: RunInput): Promise<void> {
    return this.#due.send(run, input);
  }

  #drives({ namespaceId }: RunRef): boolean {
    return this.#shard.standing.drives(namespaceId);
  }

  #work(state: RunState, start?: TaskStart): readonly Work[] {
    const work = pendingWork(state, start);
    const epoch = this.#shard.standing.markedEpoch(state.namespaceId);
    return waitsSticky(state, epoch) ? work.filter(({ kind }) => kind !== 'workflow-task') : work;
  }

  #isOfOlderEpoch(state: RunState): boolean {
    return isOfOlderEpoch(state, this.#shard.standing.markedEpoch(state.namespaceId));
  }
}

/** It has a task in the hands of a worker, or for one; what else is pending are clocks. */
function waitsForWorker(state: RunState | undefined): boolean {
  return state !== undefined && (state.workflowTask !== undefined || state.activities.size > 0);
}
