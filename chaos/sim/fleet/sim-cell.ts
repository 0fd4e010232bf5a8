/**
 * One cell of a fleet: a database that outlives its processes, and one process at a time on it, composed as `atoll cell`
 * composes it: shards, matching, frontend, lanes, receiver, control.
 *
 * Invariants
 *  1. What a cell keeps is the database, dead letters, losses and its last known map; a crash takes all else.
 *  2. A process whose shard stopped ends, and another one comes.
 */
import { FleetAdmission } from '../../../cell/frontend/fleet-admission.ts';
import type { Frontend } from '../../../cell/frontend/frontend.ts';
import type { ShardConfig } from '../../../cell/shard/config.ts';
import { PlacementViews } from '../../../cell/shard/placement-views.ts';
import type { Replicas } from '../../../cell/shard/replicas/replicas.ts';
import type { ShardHost } from '../../../cell/shard/shard-host.ts';
import type { Stop } from '../../../cell/shard/shard-owner.ts';
import type { MemoryStore } from '../../../cell/storage/memory/memory-store.ts';
import type { ShardId } from '../../../cell/storage/shard-log.ts';
import { MemoryVisibility } from '../../../cell/visibility/memory/memory-visibility.ts';
import { CachedFleetMap } from '../../../fleet/cached-map.ts';
import type { FleetMap } from '../../../fleet/map.ts';
import { sleep } from '../../../kernel/clock.ts';
import { MemoryMetrics } from '../../../kernel/metrics.ts';
import type { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { ServedCellControl } from '../../../replication/control/cell-control.ts';
import type { ReplicationConfig } from '../../../replication/config.ts';
import { LaneSender } from '../../../replication/lanes/lane-sender.ts';
import { LossRecorder } from '../../../replication/losses/loss-recorder.ts';
import { MemoryDeadLetters } from '../../../replication/memory/dead-letters.ts';
import { PlacementFollower } from '../../../replication/placement-follower.ts';
import { Receiver } from '../../../replication/receiver/receiver.ts';
import { SourceReports } from '../../../replication/receiver/source-reports.ts';
import type { Faults } from '../faults.ts';
import { HostGate, throughGate } from '../host-gate.ts';
import { openStore, serveShards } from '../served-shards.ts';
import type { Trace } from '../trace.ts';
import { WatchedDatabase } from '../watched-database.ts';
import type { WorldTime } from '../world-time.ts';
import { LinkedPeer, type Reached, type Ways } from './cell-ways.ts';
import { CrashUnderAppend } from './crash-under-append.ts';
import { KeptLosses } from './kept-losses.ts';
import { LateMap, type MapPlace } from './late-map.ts';

/** What all parts of a fleet share. */
export type FleetParts = {
  readonly time: WorldTime;
  readonly trace: Trace;
  readonly faults: Faults;
  readonly map: MapPlace;
  readonly ways: Ways;
};

export type CellPlan = {
  readonly id: string;
  readonly shardCount: number;
  readonly config: ShardConfig;
  readonly replication: ReplicationConfig;
  readonly rng: SeededRng;
  readonly map: FleetMap;
  /** How long it takes to save the last known map, at most. */
  readonly saveMs: number;
  /** How far its clocks may be off. */
  readonly skewMs: number;
};

/** A process that serves. */
export type CellProcess = Reached & {
  readonly frontend: Frontend;
  readonly shardHost: ShardHost;
  readonly replicas: Replicas;
  readonly sender: LaneSender;
};

const RESTART_MS = 200;

export class SimCell {
  readonly id: string;
  readonly database: WatchedDatabase;
  readonly letters = new MemoryDeadLetters();
  readonly losses = new KeptLosses();
  readonly breaches: string[] = [];
  readonly #parts: FleetParts;
  readonly #plan: CellPlan;
  readonly #visibility = new MemoryVisibility();
  readonly #faults: CrashUnderAppend;
  #lastKnown: FleetMap;
  #gate: HostGate | undefined;
  #current: CellProcess | undefined;
  #started = 0;

  constructor(parts: FleetParts, plan: CellPlan) {
    this.id = plan.id;
    this.#parts = parts;
    this.#plan = plan;
    this.#faults = new CrashUnderAppend(parts.faults);
    this.#lastKnown = plan.map;
    this.database = new WatchedDatabase({ clock: parts.time, shardCount: plan.shardCount });
  }

  get shardCount(): number {
    return this.#plan.shardCount;
  }

  /** Undefined while it is down or starting. */
  get current(): CellProcess | undefined {
    return this.#current;
  }

  get isUp(): boolean {
    return this.#gate !== undefined;
  }

  jumpWallBy(ms: number): void {
    this.#gate?.jumpWallBy(ms);
  }

  /** Sets its wall clock right if jumps have added up to more than that. */
  rightClock(mostMs: number): void {
    const offMs = this.#gate?.wallOffsetMs ?? 0;
    if (Math.abs(offMs) > mostMs) this.jumpWallBy(-offMs);
  }

  /** Kills it a moment after it sent its next append, which never lands. `killed` is called then. */
  killUnderAppend(afterMs: number, killed: () => void): void {
    this.#faults.arm(() => {
      const gate = this.#gate;
      this.#parts.time.after(afterMs, () => {
        if (this.#gate !== gate || !this.#parts.faults.active) return;
        this.kill();
        killed();
      });
    });
  }

  /** SIGKILL. */
  kill(): void {
    if (!this.#gate) return;
    this.#parts.trace.note(`cell ${this.id} is killed`);
    this.#gate.die();
    this.#gate = undefined;
    this.#current = undefined;
  }

  /** Starts a process, unless one runs. */
  start(): void {
    if (this.#gate) return;
    const { time, trace } = this.#parts;
    this.#started += 1;
    const rng = this.#plan.rng.fork(`process ${this.#started}`);
    const { skewMs } = this.#plan;
    const gate = new HostGate(time, skewMs === 0 ? 0 : rng.integer(-skewMs, skewMs));
    this.#gate = gate;
    trace.note(`cell ${this.id} starts`);
    this.#compose(gate, rng).catch((error: unknown) => {
      if (gate.state !== 'dead')
        this.breaches.push(`cell ${this.id} cannot start: ${String(error)}`);
    });
  }

  async #compose(gate: HostGate, rng: SeededRng): Promise<void> {
    const { trace } = this.#parts;
    const { id: cellId } = this.#plan;
    const log = trace.log(`cell ${cellId}`);
    const map = await this.#follow(gate, rng.fork('map'));
    const store = this.#store(gate, rng);
    const metrics = new MemoryMetrics();
    const config = this.#plan.replication;
    const peerOf = (target: string) =>
      new LinkedPeer({ name: cellId, gate }, { sourceId: cellId, target }, this.#parts.ways);
    const deadLetters = throughGate(gate, this.letters);
    const common = { cellId, map, peerOf, deadLetters, log, metrics, config, clock: gate };
    const shared = { ...common, rng: rng.fork('lanes') };
    const sender = new LaneSender(shared);
    const losses = new LossRecorder({ ...shared, losses: throughGate(gate, this.losses) });
    const serving = this.#shards({ gate, rng, store, map, sender });
    const replicas = serving.shardHost.replicas(losses);
    const reports = new SourceReports(gate);
    const receiver = new Receiver({ cellId, map, replicas, reports });
    const control = new ServedCellControl({ ...shared, replicas, sender, reports, losses });
    sender.start(replicas);
    this.#current = { name: cellId, gate, receiver, control, replicas, sender, ...serving };
    await serving.shardHost.open();
    new PlacementFollower({ ...shared, rng: rng.fork('placements'), replicas });
  }

  async #follow(gate: HostGate, rng: SeededRng): Promise<CachedFleetMap> {
    const { map, ways, time, trace } = this.#parts;
    const { links } = ways;
    const store = new LateMap({ name: this.id, gate }, { map, links, time });
    const lastKnown = {
      load: () => Promise.resolve(this.#lastKnown),
      save: async (newest: FleetMap) => {
        await sleep(gate, 1 + rng.fraction() * this.#plan.saveMs);
        this.#lastKnown = newest;
      },
    };
    const log = trace.log(`cell ${this.id}`);
    return CachedFleetMap.open({ store, log, clock: gate, lastKnown });
  }

  #store(gate: HostGate, rng: SeededRng): MemoryStore {
    const { time } = this.#parts;
    const store = openStore(this.database, { time, rng, faults: this.#faults });
    gate.onDeath(() => store.breakConnection());
    return store;
  }

  #shards(on: {
    readonly gate: HostGate;
    readonly rng: SeededRng;
    readonly store: MemoryStore;
    readonly map: CachedFleetMap;
    readonly sender: LaneSender;
  }) {
    const { gate, rng, store, map, sender } = on;
    const { config, shardCount } = this.#plan;
    const placements = new PlacementViews(map, this.id);
    return serveShards({
      gate,
      rng,
      store,
      visibility: this.#visibility,
      admission: new FleetAdmission(map, this.id),
      logger: this.#parts.trace.log(`cell ${this.id}`),
      config,
      shardCount,
      shards: Array.from({ length: shardCount }, (_, shard) => shard as ShardId),
      epochOf: (namespaceId) => map.namespaceById(namespaceId)?.placement.epoch ?? 0,
      placementOf: (namespaceId) => placements.of(namespaceId),
      lanes: sender,
      onShardStopped: (shard, stop) => this.#stopped(gate, shard, stop),
    });
  }

  #stopped(gate: HostGate, shard: ShardId, stop: Stop): void {
    const { trace, time } = this.#parts;
    trace.note(`cell ${this.id} stops shard ${shard}: ${stop.kind}`);
    if (stop.kind !== 'lost') {
      const cause = 'cause' in stop && stop.cause instanceof Error ? `: ${stop.cause.stack}` : '';
      this.breaches.push(`cell ${this.id} stopped shard ${shard} as ${stop.kind}${cause}`);
    }
    if (this.#gate !== gate) return;
    this.kill();
    time.after(RESTART_MS, () => this.start());
  }
}
