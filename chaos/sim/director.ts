/**
 * Makes the faults that befall whole hosts and the store, at times drawn from the seed: crashes, takeovers, sleepers, clock
 * jumps, bad weather, a promoted standby.
 *
 * Invariant: after `endMs` everything is healed: sleepers wake, the sky is clear, clocks stay where they are.
 */
import type { RangeId, Seq, ShardId } from '../../cell/storage/shard-log.ts';
import { sleep } from '../../kernel/clock.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { MOST_HOSTS, type Cluster } from './cluster.ts';
import type { CellWorld, Host } from './host.ts';

const JUMP_MS = 60_000;
/** What a takeover without faults takes, roughly. */
const LEAST_TAKEOVER_MS = 5;
const TAKEOVER_MS = 40;
/** Statements that a standby lacks: any, or so few that it has the claims of a takeover all the same. */
const MOST_LOST = 8;
const MOST_TAKEOVER_ROWS = 2;
const MOST_OVERSLEPT_MS = 200;

/** An owner whose last acknowledged row is not in the store any more. */
export type Bereft = {
  readonly host: Host;
  readonly shard: ShardId;
  readonly range: RangeId;
  readonly committed: Seq;
};

type Act = 'crash' | 'takeover' | 'sleep' | 'slow' | 'failing' | 'jump' | 'promote' | 'disconnect';

export class Director {
  readonly #world: CellWorld;
  readonly #cluster: Cluster;
  readonly #rng: SeededRng;
  readonly #endMs: number;
  readonly #acts: readonly Act[];
  readonly #onPromote: (bereft: readonly Bereft[]) => void;
  #promotes: boolean;

  constructor(options: {
    readonly world: CellWorld;
    readonly cluster: Cluster;
    readonly rng: SeededRng;
    readonly endMs: number;
    /** Told which owners the store acknowledged rows to that it now lacks. */
    readonly onPromote: (bereft: readonly Bereft[]) => void;
  }) {
    this.#world = options.world;
    this.#cluster = options.cluster;
    this.#rng = options.rng;
    this.#endMs = options.endMs;
    this.#onPromote = options.onPromote;
    this.#promotes = this.#rng.chance(0.2);
    const acts: Act[] = [
      'crash',
      'takeover',
      'sleep',
      'sleep',
      'slow',
      'failing',
      'jump',
      'disconnect',
    ];
    this.#acts = acts.filter(() => this.#rng.chance(0.75));
  }

  async run(): Promise<void> {
    const { time, faults } = this.#world;
    while (time.monotonicMs() < this.#endMs) {
      await sleep(time, 500 + this.#rng.fraction() * 5_000);
      if (time.monotonicMs() >= this.#endMs) break;
      if (this.#promotes && this.#rng.chance(0.3)) this.#act('promote');
      else if (this.#acts.length > 0) this.#act(this.#rng.pick(this.#acts));
    }
    faults.active = false;
    faults.sky = 'clear';
    for (const host of this.#cluster.hosts) host.gate.wake();
    this.#world.trace.note('faults end');
  }

  #act(act: Act): void {
    const host = this.#rng.pick(this.#cluster.hosts.length > 0 ? this.#cluster.hosts : [undefined]);
    switch (act) {
      case 'crash':
        if (!host) return;
        this.#world.faults.count('owner crash');
        return this.#cluster.kill(host);
      case 'takeover':
        return void this.#takeOver();
      case 'sleep':
        if (host?.gate.state === 'awake') {
          void this.#sleepThrough(host, 500 + this.#rng.fraction() * 12_000);
        }
        return;
      case 'slow':
      case 'failing':
        return this.#turnSky(act);
      case 'jump':
        return host ? this.#jump(host) : undefined;
      case 'promote':
        return this.#rng.chance(0.5) ? this.#promote(MOST_LOST) : this.#promoteWithoutTakeover();
      case 'disconnect':
        return host?.store.breakConnection();
    }
  }

  /** Another host is told to own shards whose owner is alive. */
  #takeOver(): Host | undefined {
    if (this.#cluster.hosts.length >= MOST_HOSTS) return undefined;
    this.#world.faults.count('takeover');
    const some = this.#cluster.allShards.filter(() => this.#rng.chance(0.6));
    const shards = some.length > 0 ? some : this.#cluster.allShards;
    const host = this.#cluster.start(shards);
    if (!this.#rng.chance(0.5)) return host;
    // A second one is told the same a moment later: two takeovers in step.
    this.#world.time.after(this.#rng.fraction() * 12, () => void this.#cluster.start(shards));
    return host;
  }

  /** A host sleeps while others take over, write checkpoints and truncate; then it goes on as if nothing were. */
  async #sleepThrough(host: Host, forMs: number): Promise<void> {
    const { time, trace, faults } = this.#world;
    trace.note(`${host.name} falls asleep`);
    host.gate.sleep();
    await sleep(time, forMs);
    if (host.gate.state !== 'asleep') return;
    if (this.#isOvertaken(host)) faults.count('zombie past checkpoint and truncation');
    trace.note(`${host.name} wakes`);
    host.gate.wake();
  }

  #isOvertaken(host: Host): boolean {
    const heads = this.#world.database.dump().shards;
    return [...host.shardHost.owners()].some(({ shard, current }) => {
      const head = heads[shard];
      return (
        current && head && head.range > current.range && head.checkpoint > current.log.committed
      );
    });
  }

  #turnSky(sky: 'slow' | 'failing'): void {
    const { faults, time, trace } = this.#world;
    if (faults.sky !== 'clear') return;
    trace.note(`the store is ${sky}`);
    faults.sky = sky;
    time.after(300 + this.#rng.fraction() * 4_000, () => {
      trace.note('the store is well');
      faults.sky = 'clear';
    });
  }

  #jump(host: Host): void {
    const deltaMs = this.#rng.chance(0.5) ? JUMP_MS : -JUMP_MS;
    this.#world.faults.count('clock jump');
    this.#world.trace.note(`the wall clock of ${host.name} jumps by ${deltaMs} ms`);
    host.gate.jumpWallBy(deltaMs);
  }

  /**
   * Soon after a takeover, whose row the standby lacks: the fence is gone, and the old owner writes on. The new one
   * sleeps until its checkpoint is due: before that of the old one, who would learn there that it was overtaken.
   */
  #promoteWithoutTakeover(): void {
    const { time, config } = this.#world;
    const host = this.#takeOver();
    time.after(LEAST_TAKEOVER_MS + this.#rng.fraction() * TAKEOVER_MS, () => {
      this.#promote(MOST_TAKEOVER_ROWS);
      if (host?.gate.state !== 'awake') return;
      const oversleptMs = this.#rng.fraction() * MOST_OVERSLEPT_MS;
      void this.#sleepThrough(host, config.checkpointIntervalMs + oversleptMs);
    });
  }

  #promote(most: number): void {
    const { faults, database, trace } = this.#world;
    if (!faults.active || !this.#promotes) return;
    const statements = Math.min(this.#rng.integer(1, most), database.losable);
    if (statements === 0) return;
    this.#promotes = false;
    faults.count('standby promoted without its tail');
    const claims = this.#cluster.hosts.flatMap((host) =>
      [...host.shardHost.owners()].flatMap(({ shard, current }) =>
        current ? [{ host, shard, range: current.range, committed: current.log.committed }] : [],
      ),
    );
    database.promoteStandby(statements);
    this.#onPromote(claims.filter((claim) => database.lacks(claim)));
    trace.note(`a standby is promoted without the last ${statements} statements`);
  }
}
