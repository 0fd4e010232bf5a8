/**
 * One seed: a fleet of two cells from its first process to the verdict of all checkers.
 *
 * Invariants
 *  1. Everything is drawn from the seed; the same seed gives the same trace, to the byte.
 *  2. Faults stop at a drawn time; from then on the fleet is healthy and must come to rest: every run ended, every move
 *     over, both cells equal (P6, P7).
 */
import type { RunDigest } from '../../../cell/shard/replicas/replicas.ts';
import type { FleetMap } from '../../../fleet/map.ts';
import { MemoryFleetMap } from '../../../fleet/memory/fleet-map.ts';
import { sleep } from '../../../kernel/clock.ts';
import { invariant } from '../../../kernel/invariant.ts';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import type { Callers } from '../callers.ts';
import type { Order } from '../client.ts';
import { drawOrders } from '../draw-orders.ts';
import type { ReadHistory } from '../evidence.ts';
import { drawWeather, Faults } from '../faults.ts';
import { NAMESPACE_ID } from '../host.ts';
import { HostGate } from '../host-gate.ts';
import { Journal } from '../journal.ts';
import { Ledger } from '../ledger.ts';
import { Network } from '../network.ts';
import { awaitIn, blaming, excerptOf, readThroughApi, startClients } from '../one-seed.ts';
import { CHECKS, FAULTS, Tally, type Check, type Fault } from '../tally.ts';
import { Trace } from '../trace.ts';
import { Workers } from '../worker.ts';
import { WorldTime } from '../world-time.ts';
import { judgeAsOneCell } from './as-one-cell.ts';
import { drawConfig, drawReplication, firstMap } from './draw-fleet.ts';
import { checkFleet, type FleetEvidence } from './checkers.ts';
import { checkViews } from '../checkers/views.ts';
import { FleetChronicle } from './fleet-chronicle.ts';
import { FleetDirector } from './fleet-director.ts';
import { HandedSignals } from './handed-signals.ts';
import { drawTurns, HardTurns, ordersFor, type Turns } from './hard-turns.ts';
import { MAP } from './late-map.ts';
import { drawFleetWeather, Links } from './links.ts';
import { MapHistory } from './map-history.ts';
import { Operators } from './operators.ts';
import { SimCell, type CellPlan, type FleetParts } from './sim-cell.ts';
import { SimRouter } from './sim-router.ts';
import {
  FLEET_ACTS,
  FLEET_CHECKS,
  FLEET_FAULTS,
  type FleetAct,
  type FleetCheck,
  type FleetFault,
} from './tally.ts';

export type FleetResult = {
  readonly seed: number;
  readonly breaches: readonly string[];
  readonly excerpt: readonly string[];
  readonly traceHash: string;
  readonly events: number;
  readonly faults: Tally<Fault>;
  readonly checks: Tally<Check>;
  readonly fleetFaults: Tally<FleetFault>;
  readonly acts: Tally<FleetAct>;
  readonly fleetChecks: Tally<FleetCheck>;
};

const QUIET_MS = 600_000;
const MAX_EVENTS = 1_500_000;
const NOTES = { mostNotes: 4, anonymous: true };
const REST_TRIES = 60;
const REST_MS = 3_000;
const READ_TRIES = 100;
const EXCERPT = {
  everywhere: ['is killed', ' starts', 'stops shard', 'epoch', 'asks for', 'ended:', 'cut'],
  lines: 60,
};

export class FleetWorld {
  readonly #seed: number;
  readonly #rng: SeededRng;
  readonly #time = new WorldTime();
  readonly #trace: Trace;
  readonly #faults = new Tally(FAULTS);
  readonly #checks = new Tally(CHECKS);
  readonly #fleetFaults = new Tally(FLEET_FAULTS);
  readonly #acts = new Tally(FLEET_ACTS);
  readonly #fleetChecks = new Tally(FLEET_CHECKS);
  readonly #journal = new Journal();
  readonly #ledger = new Ledger();
  readonly #parts: FleetParts;
  readonly #cells: readonly SimCell[];
  readonly #routers: readonly SimRouter[];
  readonly #operators: Operators;
  readonly #callers: Callers;
  readonly #workers: Workers;
  readonly #director: FleetDirector;
  readonly #orders: readonly Order[];
  readonly #endMs: number;
  readonly #handed = new HandedSignals();
  readonly #map: MapHistory;
  readonly #turns: HardTurns;

  constructor(seed: number, tell?: (line: string) => void) {
    this.#seed = seed;
    this.#rng = new SeededRng(seed);
    const rng = this.#rng;
    const time = this.#time;
    this.#trace = new Trace(time, tell);
    const trace = this.#trace;
    const weather = { ...drawWeather(rng.fork('weather')), pollersLate: 0 };
    const faults = new Faults({ rng: rng.fork('faults'), weather, tally: this.#faults, trace });
    const links = new Links({
      time,
      rng: rng.fork('links'),
      weather: drawFleetWeather(rng.fork('fleet weather')),
      tally: this.#fleetFaults,
      trace,
    });
    const shards = { a: rng.integer(1, 3), b: rng.integer(1, 4) };
    const first = firstMap(shards);
    const store = new MemoryFleetMap(first);
    this.#map = this.#follow(store, first);
    const landsLateMs = (next: FleetMap) => this.#turns.lateMs(next);
    const map = { name: MAP, gate: new HostGate(time, 0), store, landsLateMs };
    const cell = (id: string) => this.#cells.find((one) => one.id === id)?.current;
    this.#parts = { time, trace, faults, map, ways: { links, cell } };
    this.#endMs = rng.integer(15_000, 45_000);
    const turns = drawTurns(rng.fork('the turns'));
    const plan = this.#drawPlan(first, turns);
    this.#cells = (['a', 'b'] as const).map((id) =>
      simCell(this.#parts, rng, { ...plan, id, shardCount: shards[id] }),
    );
    const way = { time, links, map, cell, first, tally: this.#acts, handed: this.#handed };
    const routed = rng.fork('routed');
    const router = (name: string) => new SimRouter(name, { ...way, rng: rng.fork(name) });
    this.#routers = ['router-1', 'router-2'].map(router);
    this.#operators = new Operators(this.#parts, rng.fork('operators'));
    this.#orders = ordersFor(turns, drawOrders(rng.fork('orders'), this.#endMs, NOTES));
    this.#callers = {
      time,
      rng: rng.fork('callers'),
      network: new Network(time, faults),
      cluster: { route: () => routed.pick(this.#routers) },
      shardCount: 1,
      faults,
      journal: this.#journal,
      trace,
    };
    const fates = new Map(this.#orders.map((order) => [order.workflowId, order.fate]));
    this.#workers = new Workers({
      callers: this.#callers,
      rng: rng.fork('workers'),
      ledger: this.#ledger,
      sticky: rng.chance(0.6),
      fateOf: (workflowId) => fates.get(workflowId) ?? 'ships',
    });
    const struck = {
      ...this.#parts,
      cells: this.#cells,
      operators: this.#operators,
      routers: this.#routers,
      links,
      tally: this.#fleetFaults,
      endMs: this.#endMs,
    };
    // Moves that are hindered seldom come to their flip, and a failover that is forced excuses what a flip breaks.
    const calm = turns === 'flips';
    const director = { forces: rng.chance(0.5) && !calm, restMs: calm ? 8_000 : 3_000 };
    this.#director = new FleetDirector({ ...struck, ...director, rng: rng.fork('director') });
    this.#turns = new HardTurns({ ...struck, turns, rng: rng.fork('hard turns') });
  }

  /** What both cells have in common. */
  #drawPlan(map: FleetMap, turns: Turns): Omit<CellPlan, 'id' | 'shardCount' | 'config' | 'rng'> {
    const rng = this.#rng;
    const skewMs = rng.chance(0.5) ? 300 : 0;
    if (skewMs > 0) this.#fleetFaults.add('clock skewed');
    const saveMs = rng.fork('disks').chance(0.4) || turns === 'flips' ? 3_000 : 0;
    if (saveMs > 0) this.#fleetFaults.add('map saved late');
    return { replication: drawReplication(rng.fork('replication')), map, skewMs, saveMs };
  }

  /** Runs the fleet to its end and judges it. */
  run(): Promise<FleetResult> {
    return blaming(this.#journal, () => this.#run());
  }

  async #run(): Promise<FleetResult> {
    for (const cell of this.#cells) cell.start();
    void this.#operators.start();
    void this.#operators.start();
    void this.#director.run();
    void this.#workers.serve(this.#rng.fork('workers at').pick(this.#routers));
    const clients = startClients(this.#orders, { callers: this.#callers, rng: this.#rng });
    const bounds = { untilMs: this.#endMs + QUIET_MS, maxEvents: MAX_EVENTS };
    const isHealed = () => !this.#parts.faults.active;
    const rested = await this.#time.run(() => clients() === 0 && isHealed(), bounds);
    if (!rested) this.#journal.breaches.push(`P7: ${clients()} clients wait, and nothing comes`);
    await this.#rest();
    const breaches = await this.#judge();
    return {
      seed: this.#seed,
      breaches,
      excerpt: excerptOf(this.#trace, breaches[0], EXCERPT),
      traceHash: this.#trace.digest(),
      events: this.#time.events,
      faults: this.#faults,
      checks: this.#checks,
      fleetFaults: this.#fleetFaults,
      acts: this.#acts,
      fleetChecks: this.#fleetChecks,
    };
  }

  /** Until moves are over, lanes are empty and every run has ended: what was lost may have opened runs again. */
  async #rest(): Promise<void> {
    let why = '';
    for (let tried = 0; tried < REST_TRIES; tried += 1) {
      await this.#wait(sleep(this.#time, REST_MS));
      const before = why;
      why = this.#restless();
      if (why === '' && before === '' && tried > 0) return;
    }
    if (why !== '') this.#journal.breaches.push(`P7: the fleet does not come to rest: ${why}`);
  }

  #restless(): string {
    const move = this.#map.runningMove;
    if (move) return `move ${move.id} is in ${move.phase} (${move.note ?? ''})`;
    for (const { id, current } of this.#cells) {
      if (!current) return `cell ${id} is down`;
      const target = id === 'a' ? 'b' : 'a';
      const { kind, pending, parked } = current.sender.status({
        namespaceId: NAMESPACE_ID,
        target,
      });
      if (kind !== 'tail' || pending > 0 || parked > 0) {
        return `the lane from ${id} is in ${kind} with ${pending} pending and ${parked} parked`;
      }
    }
    const open = [...this.#chronicle().runs.values()].find(
      ({ closedMs }) => closedMs === undefined,
    );
    return open ? `run ${open.runId} of ${open.workflowId} is open` : '';
  }

  /** Hears of the map as its store holds it. */
  #follow(store: MemoryFleetMap, first: FleetMap): MapHistory {
    const map = new MapHistory({
      handover: () => this.#director.turned(),
      epoch: (placement, how) => {
        this.#trace.note(`epoch ${placement.epoch} begins in ${placement.active}`);
        this.#director.turned();
        this.#turns.began(placement, how);
      },
      ended: (id, outcome) => {
        this.#acts.add(outcome);
        this.#trace.note(`${id} ended: ${outcome}`);
      },
    });
    map.begin(first);
    store.watch((newer) => map.see(newer, this.#time.monotonicMs()));
    return map;
  }

  #chronicle(): FleetChronicle {
    const logs = this.#cells.map(({ id, database }) => ({ id, shards: database.effective }));
    return new FleetChronicle(logs, this.#map.active);
  }

  async #judge(): Promise<readonly string[]> {
    const chronicle = this.#chronicle();
    const histories = new Map<string, ReadHistory>();
    const reads = [...chronicle.runs.values()].map(async (run) => {
      const read = await readThroughApi(this.#callers, run, READ_TRIES);
      if (read) histories.set(run.runId, read);
    });
    await this.#wait(Promise.all(reads));
    const digests = await this.#digests(chronicle);
    const journal = this.#journal;
    const losses = this.#cells.flatMap(({ id, losses: kept }) =>
      kept.all().map((loss) => ({ ...loss, cell: id })),
    );
    const common = { journal, orders: this.#orders, ledger: this.#ledger.calls, losses, digests };
    const { activeIn, beganMs, forced } = this.#map;
    const seen = { activeIn, beganMs, forced, handed: this.#handed.times };
    const evidence: FleetEvidence = { ...common, ...seen, chronicle, histories };
    const [a, b] = this.#cells;
    const rows = [a, b].map((cell) => cell?.database.dump().runs ?? []);
    return [
      ...this.#cells.flatMap(({ breaches, database }) => [...breaches, ...database.breaches]),
      ...checkFleet(evidence, this.#fleetChecks),
      ...judgeAsOneCell(evidence, this.#checks),
      ...rows.flatMap((own) => checkViews(evidence, own, this.#checks)),
      ...journal.breaches,
    ];
  }

  /** Both cells are started anew, so that what is compared comes out of their stores. */
  async #digests(chronicle: FleetChronicle): Promise<FleetEvidence['digests']> {
    for (const cell of this.#cells) {
      await this.#wait(cell.current?.shardHost.close() ?? Promise.resolve());
      cell.kill();
      cell.start();
    }
    await this.#wait(sleep(this.#time, 3_000));
    const known = [...chronicle.decided.values()].map(({ transition }) => transition);
    const refs = [...new Map(known.map((one) => [one.runId, one])).values()].map(
      ({ namespaceId, workflowId, runId }) => ({ namespaceId, workflowId, runId }),
    );
    const found = new Map<string, readonly (RunDigest | undefined)[]>();
    const asks = this.#cells.map(async ({ id, current }) => {
      invariant(current !== undefined, `cell ${id} is up in a healed fleet`);
      const { signal } = new AbortController();
      found.set(id, await current.replicas.digests(refs, { recompute: true }, signal));
    });
    await this.#wait(Promise.all(asks));
    return refs.map(({ workflowId, runId }, index) => ({
      workflowId,
      runId,
      a: found.get('a')?.[index],
      b: found.get('b')?.[index],
    }));
  }

  #wait(what: Promise<unknown>): Promise<void> {
    const bounds = { quietMs: QUIET_MS, maxEvents: 2 * MAX_EVENTS };
    return awaitIn(this.#time, what, { journal: this.#journal, ...bounds });
  }
}

function simCell(
  parts: FleetParts,
  rng: SeededRng,
  plan: Omit<CellPlan, 'config' | 'rng'>,
): SimCell {
  const { id } = plan;
  const config = drawConfig(rng.fork(`config ${id}`));
  return new SimCell(parts, { ...plan, config, rng: rng.fork(`cell ${id}`) });
}
