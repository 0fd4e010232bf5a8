/**
 * Writes checkpoints of all shards of a host, behind the commits (PROTOCOLS 3): one statement for many shards, a pause
 * between two, nothing at all while nothing changed.
 *
 * Invariants
 *  1. One checkpoint statement in flight per host.
 *  2. A shard that did not move is read back: another range = lost, my new checkpoint = done, else again.
 */
import { sleep, type Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { ShardId, ShardLog } from '../storage/shard-log.ts';
import { bounded } from './bounded.ts';
import { planCheckpoint, type CheckpointPlan } from './checkpoint-plan.ts';
import type { ShardConfig } from './config.ts';
import type { Ownership } from './ownership.ts';

type Planned = { readonly ownership: Ownership; readonly plan: CheckpointPlan };

const SHARDS_PER_STATEMENT = 64;

export class Checkpointer {
  readonly #log: ShardLog;
  readonly #clock: Clock;
  readonly #logger: Log;
  readonly #config: ShardConfig;
  readonly #owned: () => Iterable<Ownership>;
  /** Lets visibility catch up first, so that few task rows must remember an index write. */
  readonly #before: () => Promise<void>;
  #running: Promise<void> | undefined;
  #wanted = false;
  #stopped = false;

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
    if (!this.#running && !this.#stopped) this.#running = this.#run();
  }

  /** Writes once more what is dirty, then no more. For a clean stop: the next start replays little. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    await this.#writeAll();
  }

  async #run(): Promise<void> {
    while (this.#wanted && !this.#stopped) {
      this.#wanted = false;
      await sleep(this.#clock, this.#config.checkpointIntervalMs);
      if (this.#stopped) break;
      await this.#before();
      await this.#writeAll();
    }
    this.#running = undefined;
  }

  async #writeAll(): Promise<void> {
    const owned = [...this.#owned()];
    for (let i = 0; i < owned.length; i += SHARDS_PER_STATEMENT) {
      const planned: Planned[] = [];
      for (const ownership of owned.slice(i, i + SHARDS_PER_STATEMENT)) {
        if (ownership.ended) continue;
        const plan = planCheckpoint(ownership, this.#config);
        if (plan) planned.push({ ownership, plan });
      }
      if (planned.length > 0) await this.#write(planned);
    }
  }

  async #write(planned: readonly Planned[]): Promise<void> {
    let moved: readonly ShardId[] = [];
    try {
      moved = await bounded(this.#clock, this.#config.statementDeadlineMs, (signal) =>
        this.#log.checkpoint(
          planned.map(({ plan }) => plan.checkpoint),
          signal,
        ),
      );
    } catch (error) {
      this.#logger.warn(
        { err: error, shards: planned.length },
        'a checkpoint has an unknown outcome; reading back',
      );
    }
    for (const { ownership, plan } of planned) {
      if (ownership.ended) continue;
      if (moved.includes(ownership.shard)) plan.finish();
      else await this.#readBack(ownership, plan);
    }
  }

  async #readBack(ownership: Ownership, plan: CheckpointPlan): Promise<void> {
    try {
      const { range, checkpoint } = await bounded(
        this.#clock,
        this.#config.statementDeadlineMs,
        (signal) => this.#log.position(ownership.shard, signal),
      );
      if (range !== ownership.range) ownership.end({ kind: 'lost', to: range });
      else if (checkpoint === plan.checkpoint.to) plan.finish();
      else this.wake();
    } catch {
      this.wake(); // The store is away: the same rows are planned again after a pause.
    }
  }
}
