/**
 * A host of shards on a memory store and virtual time, for tests: statements are counted and may be given a fate, tasks
 * wait in a real matching, visibility is a list.
 *
 * `host()` may be called again on the same database: a second process, or the same one after a crash.
 */
import { expect } from 'vitest';
import { silentLog } from '../../../kernel/log.ts';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { settlePromises, VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import type { Command } from '../../../wire/events.ts';
import { defaultHistoryLimits } from '../../history/decision.ts';
import type { HistoryLimits, Reply, WorkflowTaskStartedReply } from '../../history/decision.ts';
import type { RunInput, StartInput } from '../../history/input.ts';
import { startInput } from '../../history/testing/inputs.ts';
import type { IndexRow } from '../../history/work.ts';
import { InMemoryMatching } from '../../matching/in-memory-matching.ts';
import type { OfferedTask, QueueKey } from '../../matching/matching.ts';
import { allShards } from '../../membership/single.ts';
import { MemoryDatabase } from '../../storage/memory/memory-database.ts';
import { MemoryStore } from '../../storage/memory/memory-store.ts';
import type { StatementFate, StoreStatement } from '../../storage/memory/store-faults.ts';
import type { ShardId } from '../../storage/shard-log.ts';
import { shardConfig, type ShardConfig } from '../config.ts';
import type { CallContext, StartedTask } from '../engine.ts';
import type { PlacementView } from '../mark.ts';
import type { Ownership } from '../ownership.ts';
import { noLanes, type Delivery, type ReplicatedStep } from '../replicas/replicas.ts';
import { ShardHost } from '../shard-host.ts';
import type { Stop } from '../shard-owner.ts';

export const NS = 'ns';
export const QUEUE: QueueKey = { namespaceId: NS, kind: 'workflow', name: 'orders' };
export const ACTIVITIES: QueueKey = { namespaceId: NS, kind: 'activity', name: 'orders' };

export function wf(workflowId: string, runId?: string) {
  return { namespaceId: NS, workflowId, ...(runId === undefined ? {} : { runId }) };
}

/** A call that waits for ever. */
export function calling(signal: AbortSignal = new AbortController().signal): CallContext {
  return { signal, epoch: 1 };
}

/** Bounds of the shards, and of runs. */
type LabConfig = Partial<ShardConfig> & {
  readonly limits?: Partial<HistoryLimits>;
  /** Default 1. */
  readonly shards?: number;
};

export class Host {
  readonly statements: StoreStatement[] = [];
  readonly stops: Stop[] = [];
  readonly indexed: IndexRow[] = [];
  readonly matching: InMemoryMatching;
  readonly store: MemoryStore;
  readonly shards: ShardHost;
  /** What becomes of a statement; undefined = all is well. */
  fate: (statement: StoreStatement) => StatementFate | undefined = () => undefined;
  indexFails = false;
  /** Where the map places the namespace, for this cell. */
  placement: PlacementView | undefined;
  /** How far the lanes say that they are. */
  delivery: Delivery = 'done';
  /** What lanes were told: rows as they became durable. */
  readonly fed: { readonly seq: number; readonly steps: readonly ReplicatedStep[] }[] = [];
  readonly #clock: VirtualClock;

  constructor(
    database: MemoryDatabase,
    clock: VirtualClock,
    { limits, shards = 1, ...config }: LabConfig,
  ) {
    const rng = new SeededRng(7).fork(`host-${clock.monotonicMs()}`);
    this.#clock = clock;
    this.matching = new InMemoryMatching({ clock });
    const fateOf = (statement: StoreStatement): StatementFate => {
      this.statements.push(statement);
      return this.fate(statement) ?? { kind: 'ok' };
    };
    this.store = new MemoryStore(database, { clock, rng, faults: { fateOf } });
    const upsert = async (rows: readonly IndexRow[]) => {
      if (this.indexFails) throw new Error('the index is away');
      this.indexed.push(...rows);
    };
    this.shards = new ShardHost({
      log: this.store,
      views: this.store.views,
      index: { upsert },
      matching: this.matching,
      clock,
      rng,
      logger: silentLog,
      config: shardConfig(config),
      limits: { ...defaultHistoryLimits, ...limits },
      shardCount: shards,
      shards: allShards(shards),
      epochOf: () => this.placement?.epoch ?? 1,
      placementOf: () => this.placement,
      lanes: {
        ...noLanes,
        delivery: () => this.delivery,
        committed: (_, seq, steps) => void this.fed.push({ seq, steps }),
      },
      onShardStopped: (_, stop) => this.stops.push(stop),
    });
  }

  get ownership(): Ownership {
    const [owner] = this.shards.owners();
    if (!owner?.current) throw new Error('the shard is not owned');
    return owner.current;
  }

  count(kind: StoreStatement['kind']): number {
    return this.statements.filter((statement) => statement.kind === kind).length;
  }

  start(workflowId: string, changed: Partial<StartInput> = {}): Promise<Reply> {
    const input = startInput({ requestId: `start-${workflowId}`, ...changed });
    return this.shards.start(wf(workflowId), input, calling());
  }

  signal(workflowId: string, requestId = ''): Promise<unknown> {
    const input = { kind: 'signal', requestId, name: 'go', identity: 'client' } as const;
    return this.ask(workflowId, input);
  }

  async ask(workflowId: string, input: RunInput, runId?: string): Promise<Reply> {
    return (await this.shards.execute(wf(workflowId, runId), input, calling())).reply;
  }

  /** The next task of a queue, which must be there. */
  async poll(queue: QueueKey = QUEUE): Promise<OfferedTask> {
    const over = new AbortController();
    const polled = this.matching.poll(queue, { identity: 'worker', signal: over.signal });
    await settlePromises();
    over.abort();
    const task = await polled;
    if (!task) throw new Error(`no task waits in ${queue.name}`);
    return task;
  }

  startTask(task: OfferedTask, requestId = 'poll-1'): Promise<StartedTask> {
    return this.shards.startTask(task, { requestId, identity: 'worker' }, calling());
  }

  /** Starts the waiting workflow task and completes it with these commands. */
  async work(workflowId: string, commands: readonly Command[] = []): Promise<Reply> {
    const task = await this.poll();
    expect(task.workflowId).toBe(workflowId);
    const started = await this.startTask(task);
    if (started.kind !== 'started') throw new Error(`the task was ${started.kind}`);
    return this.complete(workflowId, started.reply as WorkflowTaskStartedReply, commands);
  }

  complete(
    workflowId: string,
    { start }: WorkflowTaskStartedReply,
    commands: readonly Command[] = [],
  ): Promise<Reply> {
    return this.ask(workflowId, {
      kind: 'complete-workflow-task',
      claim: start,
      identity: 'worker',
      commands,
      forceNewTask: false,
      binaryChecksum: '',
    });
  }

  /** Lets time pass, so that index and checkpoint have caught up. */
  async settle(ms = 3_000): Promise<void> {
    await this.#clock.advanceSettled(ms);
    await settlePromises();
  }
}

export class ShardLab {
  readonly clock: VirtualClock;
  readonly database: MemoryDatabase;
  readonly #config: LabConfig;

  /** @param clock another than its own, where several labs share the time */
  constructor(config: LabConfig = {}, clock = new VirtualClock()) {
    this.clock = clock;
    this.database = new MemoryDatabase({ clock: this.clock, shardCount: config.shards ?? 1 });
    this.#config = config;
  }

  async host(changed: LabConfig = {}): Promise<Host> {
    const host = new Host(this.database, this.clock, { ...this.#config, ...changed });
    const opened = host.shards.open();
    await settlePromises();
    await opened;
    return host;
  }

  get tables() {
    return this.database.tables(0 as ShardId);
  }
}

/** How a promise ended, so far. */
export async function outcomeOf(promise: Promise<unknown>): Promise<string> {
  let outcome = 'waits';
  promise.then(
    () => (outcome = 'done'),
    (error: unknown) => (outcome = error instanceof Error ? error.message : String(error)),
  );
  await settlePromises();
  return outcome;
}
