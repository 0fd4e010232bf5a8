/**
 * One seed: one world from its first host to the verdict of all checkers.
 *
 * Invariants
 *  1. Everything is drawn from the seed; the same seed gives the same trace, to the byte.
 *  2. Faults stop at a drawn time; from then on the world is healthy and must come to rest (P7).
 */
import type { Stop } from '../../cell/shard/shard-owner.ts';
import { shardConfig, type ShardConfig } from '../../cell/shard/config.ts';
import { MemoryVisibility } from '../../cell/visibility/memory/memory-visibility.ts';
import { sleep } from '../../kernel/clock.ts';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import type { Callers } from './callers.ts';
import { checkAnswered } from './checkers/answered.ts';
import { checkDurability } from './checkers/durability.ts';
import { checkEnds } from './checkers/ends.ts';
import { checkOnce } from './checkers/once.ts';
import { checkReads } from './checkers/reads.ts';
import { checkTasks } from './checkers/tasks.ts';
import { checkViews } from './checkers/views.ts';
import { Chronicle } from './chronicle.ts';
import type { Order } from './client.ts';
import { Cluster } from './cluster.ts';
import { Director, type Bereft } from './director.ts';
import { drawOrders } from './draw-orders.ts';
import type { Evidence, ReadHistory } from './evidence.ts';
import { drawWeather, Faults } from './faults.ts';
import type { CellWorld } from './host.ts';
import { Journal } from './journal.ts';
import { Ledger } from './ledger.ts';
import { Network } from './network.ts';
import { awaitIn, blaming, excerptOf, readThroughApi, startClients } from './one-seed.ts';
import { CHECKS, FAULTS, Tally, type Check, type Fault } from './tally.ts';
import { Trace } from './trace.ts';
import { WatchedDatabase } from './watched-database.ts';
import { Workers } from './worker.ts';
import { WorldTime } from './world-time.ts';

export type SeedResult = {
  readonly seed: number;
  /** Broken promises, the first one first. */
  readonly breaches: readonly string[];
  /** The last lines of the trace that concern the first breach. */
  readonly excerpt: readonly string[];
  readonly traceHash: string;
  readonly faults: Tally<Fault>;
  readonly checks: Tally<Check>;
  readonly events: number;
};

const QUIET_MS = 900_000;
const MAX_EVENTS = 400_000;
const READ_TRIES = 300;
const EXCERPT = {
  everywhere: ['falls asleep', 'wakes', 'killed', 'starts with', 'promoted', 'stops shard'],
  lines: 40,
};
const CLOSE_TRIES = 8;
const REST_TRIES = 20;
const REST_MS = 15_000;

export class World {
  readonly #seed: number;
  readonly #rng: SeededRng;
  readonly #time = new WorldTime();
  readonly #trace: Trace;
  readonly #faultTally = new Tally(FAULTS);
  readonly #checkTally = new Tally(CHECKS);
  readonly #journal = new Journal();
  readonly #ledger = new Ledger();
  readonly #database: WatchedDatabase;
  readonly #cell: CellWorld;
  readonly #cluster: Cluster;
  readonly #callers: Callers;
  readonly #workers: Workers;
  readonly #director: Director;
  readonly #orders: readonly Order[];
  readonly #endMs: number;
  #promoted = false;
  readonly #bereft: Bereft[] = [];

  constructor(seed: number, tell?: (line: string) => void) {
    this.#seed = seed;
    this.#rng = new SeededRng(seed);
    const rng = this.#rng;
    this.#trace = new Trace(this.#time, tell);
    const faults = new Faults({
      rng: rng.fork('faults'),
      weather: drawWeather(rng.fork('weather')),
      tally: this.#faultTally,
      trace: this.#trace,
    });
    const shardCount = rng.integer(1, 3);
    this.#endMs = rng.integer(15_000, 35_000);
    const time = this.#time;
    const isolation = rng.chance(0.3) ? 'repeatable read' : 'read committed';
    this.#database = new WatchedDatabase({ clock: time, shardCount, isolation });
    this.#cell = {
      time,
      database: this.#database,
      visibility: new MemoryVisibility(),
      faults,
      trace: this.#trace,
      shardCount,
      config: drawConfig(rng.fork('config')),
    };
    this.#cluster = new Cluster({
      world: this.#cell,
      rng: rng.fork('cluster'),
      onStart: (host) => void this.#workers.serve(host),
      onStop: (host, shard, stop) => this.#stopped(host.name, shard, stop),
    });
    this.#orders = drawOrders(rng.fork('orders'), this.#endMs, { mostNotes: 3, anonymous: false });
    this.#callers = {
      time,
      rng: rng.fork('callers'),
      network: new Network(time, faults),
      cluster: this.#cluster,
      shardCount,
      faults,
      journal: this.#journal,
      trace: this.#trace,
    };
    const fates = new Map(this.#orders.map((order) => [order.workflowId, order.fate]));
    this.#workers = new Workers({
      callers: this.#callers,
      rng: rng.fork('workers'),
      ledger: this.#ledger,
      sticky: rng.chance(0.6),
      fateOf: (workflowId) => fates.get(workflowId) ?? 'ships',
    });
    this.#director = new Director({
      world: this.#cell,
      cluster: this.#cluster,
      rng: rng.fork('director'),
      endMs: this.#endMs,
      onPromote: (bereft) => {
        this.#promoted = true;
        this.#bereft.push(...bereft);
        this.#workers.forget();
      },
    });
  }

  /** Runs the world to its end and judges it. */
  run(): Promise<SeedResult> {
    return blaming(this.#journal, () => this.#run());
  }

  async #run(): Promise<SeedResult> {
    this.#cluster.open();
    void this.#director.run();
    const clients = startClients(this.#orders, { callers: this.#callers, rng: this.#rng });
    const bounds = { untilMs: this.#endMs + QUIET_MS, maxEvents: MAX_EVENTS };
    const isHealed = () => !this.#cell.faults.active;
    const rested = await this.#time.run(() => clients() === 0 && isHealed(), bounds);
    if (!rested)
      this.#journal.breaches.push(`P7: ${clients()} clients still wait, and nothing comes`);
    await this.#letLostEndsEnd();
    const evidence = await this.#gather();
    this.#checkHoles();
    await this.#close();
    const breaches = this.#judge(evidence);
    return {
      seed: this.#seed,
      breaches,
      excerpt: excerptOf(this.#trace, breaches[0], EXCERPT),
      traceHash: this.#trace.digest(),
      faults: this.#faultTally,
      checks: this.#checkTally,
      events: this.#time.events,
    };
  }

  /**
   * A run whose end a promoted standby lost is open again, and nobody waits for it any more. An idle owner learns of the
   * hole when somebody asks; whoever comes after drives the run on.
   */
  async #letLostEndsEnd(): Promise<void> {
    for (let tried = 0; this.#promoted && tried < REST_TRIES; tried += 1) {
      const { effective, lost } = this.#database;
      const { runs } = new Chronicle(effective, lost);
      if ([...runs.values()].every(({ closedMs }) => closedMs !== undefined)) return;
      await this.#gather();
      await this.#wait(sleep(this.#time, REST_MS));
    }
  }

  /** Reads every history through the API. */
  async #gather(): Promise<Evidence> {
    const { effective, lost } = this.#database;
    const chronicle = new Chronicle(effective, lost);
    const histories = new Map<string, ReadHistory>();
    const reads = [...chronicle.runs.values()].map(async (run) => {
      const read = await readThroughApi(this.#callers, run, READ_TRIES);
      if (read) histories.set(run.runId, read);
    });
    await this.#wait(Promise.all(reads));
    const journal = this.#journal;
    return { journal, chronicle, histories, orders: this.#orders, ledger: this.#ledger.calls };
  }

  /** Clean stops until every view is written: a claim that landed late may have fenced a shard's last owner. */
  async #close(): Promise<void> {
    const { shards } = this.#database.dump();
    for (let tried = 0; tried < CLOSE_TRIES; tried += 1) {
      const { hosts } = this.#cluster;
      await this.#wait(Promise.all(hosts.map(({ shardHost }) => shardHost.close())));
      const behind = shards.filter(({ shard }) => !this.#database.isViewed(shard));
      if (behind.length === 0) return;
      const host = this.#cluster.start(behind.map(({ shard }) => shard));
      await this.#wait(sleep(this.#time, 2_000));
      this.#trace.note(`${host.name} is there to write the last views`);
    }
  }

  #wait(what: Promise<unknown>): Promise<void> {
    const bounds = { quietMs: QUIET_MS, maxEvents: 2 * MAX_EVENTS };
    return awaitIn(this.#time, what, { journal: this.#journal, ...bounds });
  }

  #judge(evidence: Evidence): readonly string[] {
    const tally = this.#checkTally;
    tally.add('P2 log rows', this.#database.rowsSeen);
    tally.add('P2 takeovers', this.#database.takeoversSeen);
    const runs = this.#database.dump().runs;
    return [
      ...this.#database.breaches,
      ...checkOnce(evidence, tally),
      ...checkAnswered(evidence, tally),
      ...checkDurability(evidence, tally),
      ...checkReads(evidence, tally),
      ...checkTasks(evidence, tally),
      ...this.#journal.breaches,
      ...checkEnds(evidence, tally),
      ...checkViews(evidence, runs, tally),
    ];
  }

  /** PROTOCOLS 1: who was acknowledged a row that the store lacks now has stopped, or died. */
  #checkHoles(): void {
    for (const claim of this.#bereft) {
      const { host, shard } = claim;
      this.#checkTally.add('holes stopped');
      if (!this.#database.lacks(claim)) continue;
      if (host.gate.state === 'dead' || host.stopped.has(shard)) continue;
      // Who had nothing to write or to answer since may not have noticed.
      const now = [...host.shardHost.owners()].find((owner) => owner.shard === shard)?.current;
      if (now?.range === claim.range && now.log.committed === claim.committed) continue;
      this.#journal.breaches.push(`P1: ${host.name} goes on with shard ${shard} over a hole`);
    }
  }

  #stopped(host: string, shard: number, stop: Stop): void {
    this.#trace.note(`${host} stops shard ${shard}: ${stop.kind}`);
    if (stop.kind === 'lost') return;
    if (stop.kind === 'hole' && this.#promoted) return;
    const cause = 'cause' in stop && stop.cause instanceof Error ? `: ${stop.cause.message}` : '';
    this.#journal.breaches.push(`${host} stopped shard ${shard} as ${stop.kind}${cause}`);
  }
}

function drawConfig(rng: SeededRng): ShardConfig {
  const hasty = rng.chance(0.5);
  return shardConfig({
    checkpointIntervalMs: rng.chance(0.3) ? rng.integer(1_500, 5_000) : rng.integer(100, 1_500),
    cachedRunLimit: rng.chance(0.5) ? rng.integer(1, 4) : 1_000,
    recentHistoryBytes: rng.chance(0.5) ? 1 : 64 * 1024,
    tailRecordLimit: rng.chance(0.3) ? rng.integer(5, 40) : 2_000,
    scanAgainMs: rng.chance(0.3) ? 5_000 : 600_000,
    timerWindow: rng.chance(0.3) ? rng.integer(2, 10) : 20_000,
    ...(hasty
      ? { appendDeadlineMs: 1_000, appendGiveUpMs: 3_000, statementDeadlineMs: 1_500 }
      : {}),
  });
}
