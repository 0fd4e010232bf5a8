/**
 * Writes checkpoints of all shards of a host, behind the commits (PROTOCOLS 3): one statement for many shards, a pause
 * between two, nothing at all while nothing changed.
 *
 * Invariants
 *  1. One checkpoint statement in flight per host.
 *  2. A shard that did not move is read back: another range = lost, my new checkpoint = done, else the identical
 *     checkpoint again. Never another one before: the first may land late, and nobody would know what the views hold.
 *  3. A statement is bounded by shards, rows and bytes (P11), unless it is one shard's alone.
 *  4. A checkpoint that is sent again goes alone: a shard whose rows the store refuses holds up no other.
 */
import { sleep, type Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import type { Checkpoint, ShardId, ShardLog } from '../../storage/shard-log.ts';
import type { ViewBatch } from '../../storage/views.ts';
import { bounded } from '../bounded.ts';
import { planCheckpoint, type CheckpointPlan } from './checkpoint-plan.ts';
import type { ShardConfig } from '../config.ts';
import type { Ownership } from '../ownership.ts';

type Planned = { readonly ownership: Ownership; readonly plan: CheckpointPlan };

export class Checkpointer {
  readonly #log: ShardLog;
  readonly #clock: Clock;
  readonly #logger: Log;
  readonly #config: ShardConfig;
  readonly #owned: () => Iterable<Ownership>;
  /** Lets visibility catch up first, so that few task rows must remember an index write. */
  readonly #before: () => Promise<void>;
  /** Plans whose outcome is not known; one a shard, gone with its ownership. */
  readonly #unsettled = new WeakMap<Ownership, CheckpointPlan>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #wanted = false;

  constructor(options: {
    readonly log: ShardLog;
    readonly clock: Clock;
    readonly logger: Log;
    readonly config: ShardConfig;
    readonly owned: () => Iterable<Ownership>;
    readonly before: () => Promise<void>;
  }) {
    this.#log = options.log;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#config = options.config;
    this.#owned = options.owned;
    this.#before = options.before;
  }

  /** There is something to write; cheap to repeat. */
  wake(): void {
    this.#wanted = true;
    if (!this.#stopping.signal.aborted) this.#running ??= this.#run();
  }

  /** Writes once more what is dirty, then no more. For a clean stop: the next start replays little. */
  async stop(): Promise<void> {
    this.#stopping.abort(new AtollError('cancelled', 'stopping'));
    await this.#running;
    await this.#writeAll();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#wanted && !signal.aborted) {
      this.#wanted = false;
      await sleep(this.#clock, this.#config.checkpointIntervalMs, signal).catch(() => {});
      if (signal.aborted) break;
      await this.#before();
      await this.#writeAll();
    }
    this.#running = undefined;
  }

  async #writeAll(): Promise<void> {
    const again: Planned[] = [];
    let fresh: Planned[] = [];
    let size = EMPTY;
    for (const ownership of [...this.#owned()]) {
      if (ownership.ended) continue;
      const unsettled = this.#unsettled.get(ownership);
      const plan = unsettled ?? this.#plan(ownership);
      if (!plan) continue;
      if (unsettled) {
        again.push({ ownership, plan });
        continue;
      }
      const added = sizeOf(plan.checkpoint.views);
      if (fresh.length > 0 && !this.#fits(fresh.length + 1, size, added)) {
        await this.#write(fresh);
        // This plan waits like one that is on its way: what is decided meanwhile stays dirty.
        [fresh, size] = [[], EMPTY];
      }
      fresh.push({ ownership, plan });
      size = { rows: size.rows + added.rows, bytes: size.bytes + added.bytes };
    }
    if (fresh.length > 0) await this.#write(fresh);
    for (const planned of again) await this.#write([planned]);
  }

  #fits(shards: number, { rows, bytes }: Size, added: Size): boolean {
    const { checkpointStatementShards, checkpointStatementRows, checkpointStatementBytes } =
      this.#config;
    return (
      shards <= checkpointStatementShards &&
      rows + added.rows <= checkpointStatementRows &&
      bytes + added.bytes <= checkpointStatementBytes
    );
  }

  /** A bug of ours that shows here stops the shard, not the process. */
  #plan(ownership: Ownership): CheckpointPlan | undefined {
    try {
      return planCheckpoint(ownership, this.#config);
    } catch (cause) {
      ownership.end({ kind: 'broken', cause });
      return undefined;
    }
  }

  async #write(planned: readonly Planned[]): Promise<void> {
    for (const { ownership, plan } of planned) this.#unsettled.set(ownership, plan);
    const moved = new Set(await this.#send(planned.map(({ plan }) => plan.checkpoint)));
    for (const { ownership, plan } of planned) {
      if (ownership.ended) continue;
      if (moved.has(ownership.shard)) this.#finish(ownership, plan);
      else await this.#readBack(ownership, plan);
    }
  }

  async #send(checkpoints: readonly Checkpoint[]): Promise<readonly ShardId[]> {
    try {
      return await bounded(this.#clock, this.#config.statementDeadlineMs, (signal) =>
        this.#log.checkpoint(checkpoints, signal),
      );
    } catch (error) {
      this.#logger.warn(
        { err: error, shards: checkpoints.length },
        'a checkpoint has an unknown outcome; reading back',
      );
      return [];
    }
  }

  #finish(ownership: Ownership, plan: CheckpointPlan): void {
    this.#unsettled.delete(ownership);
    try {
      plan.finish();
    } catch (cause) {
      ownership.end({ kind: 'broken', cause });
    }
    if (!ownership.book.clean) this.wake(); // It changed while the statement was on its way.
  }

  async #readBack(ownership: Ownership, plan: CheckpointPlan): Promise<void> {
    try {
      const { range, checkpoint } = await bounded(
        this.#clock,
        this.#config.statementDeadlineMs,
        (signal) => this.#log.position(ownership.shard, signal),
      );
      if (ownership.ended) return;
      const { from, to } = plan.checkpoint;
      if (range !== ownership.range) ownership.end({ kind: 'lost', to: range });
      else if (checkpoint === to && to > from) this.#finish(ownership, plan);
      else {
        // Not moved although nothing else took over: is my last row still there? If not, proof ends in a hole.
        await ownership.log.prove();
        this.wake();
      }
    } catch {
      this.wake(); // The store is away: the same checkpoint is sent again after a pause.
    }
  }
}

type Size = { readonly rows: number; readonly bytes: number };

const EMPTY: Size = { rows: 0, bytes: 0 };

/** How much a shard's views add to a statement: rows, and the bytes of what they hold beside their keys. */
function sizeOf({ runs, executions, ledger, history, timers, tasks, gone }: ViewBatch): Size {
  const blobs = [
    ...runs.map(({ state }) => state),
    ...executions.map(({ pointer }) => pointer),
    ...ledger.put.map(({ entry }) => entry),
    ...history.map(({ events }) => events),
  ];
  const others = [ledger.drop, timers.put, timers.drop, tasks.put, tasks.drop, gone.runs];
  return {
    rows: blobs.length + others.reduce((sum, rows) => sum + rows.length, 0),
    bytes: blobs.reduce((sum, blob) => sum + blob.length, 0),
  };
}
