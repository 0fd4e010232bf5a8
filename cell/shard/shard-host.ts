/**
 * All shards of one host behind the Engine port: finds the owner of a workflow id and asks it; runs what shards share:
 * log writer, read barrier, view loader, checkpointer, index writer, query desk.
 */
import type { Clock } from '../../kernel/clock.ts';
import { orAbort, withDeadline } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Log } from '../../kernel/log.ts';
import type { Rng } from '../../kernel/rng.ts';
import { defaultHistoryLimits, type HistoryLimits, type Reply } from '../history/decision.ts';
import { assertOnBranch, NO_LINEAGE } from '../history/lineage.ts';
import type { RunInput, StartInput, TaskTaker } from '../history/input.ts';
import type { Matching, OfferedTask } from '../matching/matching.ts';
import type { ShardId, ShardLog } from '../storage/shard-log.ts';
import type { ShardViews } from '../storage/views.ts';
import type { CachedRun } from './runs/cached.ts';
import { Checkpointer } from './views/checkpointer.ts';
import type { ShardConfig } from './config.ts';
import type {
  BranchPage,
  CallContext,
  Engine,
  HistoryRange,
  QueryAnswer,
  QueryOutcome,
  RunRef,
  RunView,
  StartedTask,
  Target,
  WorkflowQuery,
} from './engine.ts';
import { IndexWriter, type IndexPort } from './views/index-writer.ts';
import { LogWriter } from './log/log-writer.ts';
import { readHistory } from './runs/history-reader.ts';
import type { HostParts } from './host-parts.ts';
import type { Ownership } from './ownership.ts';
import { QueryDesk } from './runs/query-desk.ts';
import { LossBook } from './replicas/loss-book.ts';
import { StaleCaches } from './runs/stale-caches.ts';
import type { LossKeeper } from './replicas/loss.ts';
import { noLanes, type LaneFeed, type Replicas } from './replicas/replicas.ts';
import { ReadBarrier } from './log/read-barrier.ts';
import type { Found } from './runs/shard-memory.ts';
import { shardOf } from './shard-of.ts';
import { ShardOwner, type Stop } from './shard-owner.ts';
import { ShardReplicas } from './replicas/shard-replicas.ts';
import { ViewLoader } from './views/view-loader.ts';

export type ShardHostOptions = {
  readonly log: ShardLog;
  readonly views: ShardViews;
  readonly index: IndexPort;
  readonly matching: Matching;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Log;
  readonly config: ShardConfig;
  readonly limits?: HistoryLimits;
  readonly shardCount: number;
  /** The shards that this host serves (membership). */
  readonly shards: readonly ShardId[];
  epochOf(namespaceId: string): number;
  /** Where the map places the namespace; absent: nothing is placed, all act here. */
  readonly placementOf?: HostParts['placementOf'] | undefined;
  /** The lanes, fed by the owners; none by default. */
  readonly lanes?: LaneFeed | undefined;
  /** Told how late each clock of a run rang, for metrics. */
  readonly timerRang?: ((lagMs: number) => void) | undefined;
  /** A shard stopped for good; `lost` under `single` membership ends the process. */
  onShardStopped(shard: ShardId, stop: Stop): void;
};

export class ShardHost implements Engine {
  readonly #options: ShardHostOptions;
  readonly #owners = new Map<ShardId, ShardOwner>();
  readonly #desk: QueryDesk;
  readonly #index: IndexWriter;
  readonly #checkpointer: Checkpointer;
  readonly #unsubscribe: () => void;
  readonly #losses = new LossBook();
  readonly #staleCaches = new StaleCaches();
  /** Map revision at which a namespace's polls were ended; one a namespace that ever moved. */
  readonly #releasedAt = new Map<string, number>();

  constructor(options: ShardHostOptions) {
    this.#options = options;
    const { clock, rng, logger, config, matching, log, views } = options;
    this.#desk = new QueryDesk({ clock, rng, matching, config });
    this.#index = new IndexWriter({ index: options.index, clock, log: logger, config });
    this.#checkpointer = new Checkpointer({
      log,
      clock,
      logger,
      config,
      owned: () => this.#ownerships(),
      before: () => this.#index.flush(),
    });
    const parts: HostParts = {
      clock,
      rng,
      log: logger,
      config,
      limits: options.limits ?? defaultHistoryLimits,
      matching,
      writer: new LogWriter({ log, clock, config }),
      barrier: new ReadBarrier(log, clock, config.statementDeadlineMs),
      loader: new ViewLoader(views, clock, config.statementDeadlineMs),
      index: this.#index,
      queries: this.#desk,
      epochOf: (namespaceId) => options.epochOf(namespaceId),
      stoppedActing: (namespaceId, revision) => this.#release(namespaceId, revision),
      placementOf: options.placementOf ?? (() => undefined),
      lanes: options.lanes ?? noLanes,
      losses: this.#losses,
      timerRang: options.timerRang,
      dirty: () => this.#checkpointer.wake(),
    };
    for (const shard of options.shards) {
      const onStop = (stop: Stop) => options.onShardStopped(shard, stop);
      this.#owners.set(shard, new ShardOwner({ shard, parts, log, views, onStop }));
    }
    this.#unsubscribe = matching.onRoom((queue) => {
      for (const ownership of this.#ownerships()) ownership.work.driver.onRoom(queue);
    });
  }

  /** Takes over all shards; resolves when each is owned or has stopped. */
  async open(): Promise<void> {
    await Promise.all([...this.#owners.values()].map((owner) => owner.take()));
  }

  /** Writes what memory holds into views and index, then ends every ownership. */
  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#index.stop();
    await this.#checkpointer.stop();
    for (const owner of this.#owners.values()) owner.close();
  }

  /** The owners, for health and metrics. */
  owners(): Iterable<ShardOwner> {
    return this.#owners.values();
  }

  async start(target: Target, input: StartInput, call: CallContext): Promise<Reply> {
    return (await this.#ownership(target, call.signal)).start(target, input, call);
  }

  async execute(
    target: Target,
    input: RunInput,
    call: CallContext,
  ): Promise<{ readonly runId: string; readonly reply: Reply }> {
    const ownership = await this.#ownership(target, call.signal);
    const { namespaceId, runId } = target;
    if (input.kind !== 'complete-workflow-task' || runId === undefined)
      return ownership.execute(target, input, call);
    const run = { ...target, runId };
    const forced = this.#options.placementOf?.(namespaceId)?.forced ?? 0;
    await this.#staleCaches.check(ownership, { run, input, forced }, call);
    const done = await ownership.execute(target, input, call);
    if (forced > 0 && done.reply.kind === 'workflow-task-completed') this.#staleCaches.taken(run);
    return done;
  }

  async read(target: Target, call: CallContext): Promise<RunView> {
    const ownership = await this.#ownership(target, call.signal);
    return ownership.at(target, call.signal, async (found) => {
      await ownership.prove(target.namespaceId, found, call.signal);
      return viewOf(found);
    });
  }

  /** Needs no proof of its own: events up to one that a proven read or a started task named never change on its branch. */
  async history(
    ref: RunRef,
    { branch, ...range }: HistoryRange,
    call: CallContext,
  ): Promise<BranchPage> {
    const { views, clock, config } = this.#options;
    const ownership = await this.#ownership(ref, call.signal);
    ownership.standing.assertActing(ref.namespaceId);
    const { shard } = ownership;
    return ownership.at(ref, call.signal, async ({ run }) => {
      const { historyId } = run.branch;
      const lineage = run.committed?.lineage ?? NO_LINEAGE;
      assertOnBranch({ ...ref, lineage }, branch);
      const page = await readHistory(run, { ...range, historyId }, (from, maxBytes) =>
        withDeadline(
          clock,
          {
            what: 'a read of stored history',
            timeoutMs: config.statementDeadlineMs,
            parent: call.signal,
          },
          (signal) =>
            views.history(
              shard,
              { ...ref, runId: historyId },
              { fromEventId: from, maxBytes },
              signal,
            ),
        ),
      );
      return { ...page, lineage };
    });
  }

  async waitForEvents(ref: RunRef, afterEventId: number, call: CallContext): Promise<void> {
    const ownership = await this.#ownership(ref, call.signal);
    const came = ({ run }: Found) => {
      ownership.standing.assertActing(ref.namespaceId);
      const state = run.committed;
      if (state && (state.closedAt !== undefined || state.nextEventId - 1 > afterEventId))
        return true;
      return nextCommit(run, call.signal).then(() => false);
    };
    while (!(await ownership.at(ref, call.signal, came)));
  }

  async startTask(task: OfferedTask, poller: TaskTaker, call: CallContext): Promise<StartedTask> {
    const target = { ...task.queue, workflowId: task.workflowId, runId: task.runId };
    // Its owner elsewhere offers it there. Given back, it would stand in the queue for ever, before all others (P7).
    if (this.#owner(target).isStopped) return { kind: 'obsolete' };
    const ownership = await this.#ownership(target, call.signal);
    if (!ownership.standing.drives(target.namespaceId)) {
      // Perhaps only until its next mark is durable: then it is to be offered again (P7).
      ownership.work.driver.left(target, task);
      return { kind: 'obsolete' };
    }
    if (task.kind === 'query-task') {
      return ownership.at(target, call.signal, (found) => {
        const taken = this.#desk.take(found.run, task);
        if (taken.kind !== 'taken') return taken;
        return { kind: 'query', view: viewOf(found), query: taken.query };
      });
    }
    const kind = task.kind === 'workflow-task' ? 'start-workflow-task' : 'start-activity';
    const { scheduledEventId, attempt } = task;
    const input = { kind, scheduledEventId, attempt, ...poller } as const;
    const { reply } = await ownership.execute(target, input, call);
    const run = ownership.memory.peekRun(target);
    if (reply.kind === 'obsolete') {
      if (run) ownership.work.offerAgain(run, task);
      return { kind: 'obsolete' };
    }
    const queries = kind === 'start-workflow-task' ? run?.queries?.ride() : undefined;
    return { kind: 'started', reply, queries: queries ?? new Map() };
  }

  async query(target: Target, query: WorkflowQuery, call: CallContext): Promise<QueryOutcome> {
    const ownership = await this.#ownership(target, call.signal);
    return this.#desk.query(ownership, target, { query, call });
  }

  answerQuery(ref: RunRef, queryId: string, answer: QueryAnswer): void {
    const ownership = this.#owner(ref).current;
    ownership?.memory.peekRun(ref)?.queries?.answer(queryId, answer);
  }

  askAgain(ref: RunRef): void {
    const run = this.#owner(ref).current?.memory.peekRun(ref);
    if (run) this.#desk.askAgain(run);
  }

  /** For polls, which belong to no shard: all shards of a host close and open together. */
  assertActing(namespaceId: string): void {
    const [first] = this.#ownerships();
    first?.standing.assertActing(namespaceId);
  }

  /**
   * Its polls end, once for all shards: they find the new cell. Not while one of its shards acts: matching would drop the tasks
   * of that one, too, and nobody would offer them again (P7). That lasts until the last one is told, or until the map shows what
   * the marks of a shard already say (a cell that started with an older map).
   */
  #release(namespaceId: string, revision: number): void {
    for (const { standing } of this.#ownerships()) if (standing.acts(namespaceId)) return;
    if (this.#releasedAt.get(namespaceId) === revision) return;
    this.#releasedAt.set(namespaceId, revision);
    this.#options.matching.release(namespaceId);
  }

  /** The shards as lanes and replicas use them. `keeper` is told of what a forced failover cost, as it shows. */
  replicas(keeper?: LossKeeper): Replicas {
    if (keeper) this.#losses.keepIn(keeper);
    const losses = this.#losses;
    const { log, views, clock, rng, config, shardCount, shards } = this.#options;
    const { statementDeadlineMs } = config;
    const host = {
      shardCount,
      shards,
      ownership: (target: Target, signal: AbortSignal) => this.#ownership(target, signal),
      ownershipOf: (shard: ShardId, signal: AbortSignal) => this.#ownerOf(shard).owned(signal),
    };
    const lanes = this.#options.lanes ?? noLanes;
    const kept = { losses, staleCaches: this.#staleCaches };
    return new ShardReplicas({ host, log, views, clock, rng, statementDeadlineMs, lanes, ...kept });
  }

  #owner(target: Target): ShardOwner {
    return this.#ownerOf(shardOf(target.namespaceId, target.workflowId, this.#options.shardCount));
  }

  #ownerOf(shard: ShardId): ShardOwner {
    const owner = this.#owners.get(shard);
    if (!owner) throw new AtollError('unavailable', `shard ${shard} is not served by this host`);
    return owner;
  }

  async #ownership(target: Target, signal: AbortSignal): Promise<Ownership> {
    const owner = this.#owner(target);
    return owner.current ?? (await owner.owned(signal));
  }

  *#ownerships(): Iterable<Ownership> {
    for (const owner of this.#owners.values()) if (owner.current) yield owner.current;
  }
}

function viewOf({ run, execution }: Found): RunView {
  const state = run.committed;
  invariant(state !== undefined, `run ${run.ref.runId} is read before its start is durable`);
  const start = run.liveStart(state);
  const current = execution.committedCurrent ?? execution.current;
  return { state, execution: { ...execution.head, current }, ...(start ? { start } : {}) };
}

function nextCommit(run: CachedRun, signal: AbortSignal): Promise<void> {
  let wake = () => {};
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  run.waiters.add(wake);
  return orAbort(woken, signal).finally(() => run.waiters.delete(wake));
}
