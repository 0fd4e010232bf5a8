/**
 * Two cells that answer as `CellControl` says, in virtual time, with delays and failures, on a map whose compare-and-sets
 * may land late: what the fuzz test of moves runs on. It watches the promises that a move must keep.
 */
import type { FleetMapStore, SetOutcome } from '../../../fleet/fleet-map.ts';
import type { FleetMap, Namespace } from '../../../fleet/map.ts';
import { MemoryFleetMap } from '../../../fleet/memory/fleet-map.ts';
import { sleep } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import type { Rng } from '../../../kernel/rng.ts';
import type { VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import type {
  CellControl,
  LaneStatus,
  ShardBarrier,
} from '../../../replication/control/control.ts';

const SHARDS = 2;
const PROBES = { parked: 0, deadLetters: 0, copied: 0, total: 0, acknowledgedMsAgo: 10 };

type Trouble = {
  /** Of calls and compare-and-sets: the share that fails, or lands and is not heard of. */
  failures: number;
  longestDelayMs: number;
  /** Records that a lane applies at a time. */
  laneSpeed: number;
};

class FakeCell implements CellControl {
  readonly id: string;
  readonly #fleet: FakeFleet;
  readonly log: number[] = new Array<number>(SHARDS).fill(0);
  /** Of the other cell's log, applied here. */
  readonly applied: number[] = new Array<number>(SHARDS).fill(0);
  open: boolean;
  gated = false;

  constructor(id: string, fleet: FakeFleet) {
    this.id = id;
    this.#fleet = fleet;
    this.open = id === 'east';
  }

  gate(ask: { moveId: string }, signal: AbortSignal): Promise<readonly ShardBarrier[]> {
    return this.#fleet.call(signal, () => {
      const { state } = this.#fleet.namespace().placement;
      if (state.kind !== 'handover' || state.moveId !== ask.moveId) {
        throw new AtollError('failed-precondition', 'the map says that there is no such handover');
      }
      if (!this.gated) this.log.forEach((_, shard) => this.append(shard));
      this.gated = true;
      this.open = false;
      return this.log.map((seq, shard) => ({ shard, seq }));
    });
  }

  lane(ask: { target: string }, signal: AbortSignal): Promise<LaneStatus> {
    return this.#fleet.call(signal, () => {
      const { applied } = this.#fleet.cell(ask.target);
      const pending = this.log.reduce((sum, seq, shard) => sum + seq - (applied[shard] ?? 0), 0);
      return {
        ...PROBES,
        kind: 'tail',
        pending,
        lagMs: pending * 20,
        applied: applied.map((seq, shard) => ({ shard, seq })),
      };
    });
  }

  observe(_: { revision: number }, signal: AbortSignal): Promise<void> {
    return this.#fleet.call(signal, () => this.readMap());
  }

  verify(_: object, signal: AbortSignal) {
    const report = { compared: 5, equal: 5, different: [], differences: 0, moving: 0, repaired: 0 };
    return this.#fleet.call(signal, () => report);
  }

  estimateLoss(_: object, signal: AbortSignal) {
    const [source, none] = [this.id, 0];
    return this.#fleet.call(signal, () => [
      { source, heardMsAgo: none, knownMissing: none, lagMs: none },
    ]);
  }

  lossReport({ namespaceId }: { namespaceId: string }, signal: AbortSignal) {
    return this.#fleet.call(signal, () => ({ namespaceId, epoch: 1, executions: [], omitted: 0 }));
  }

  /** As the map says, and by nothing else (PROTOCOLS 8.4). */
  readMap(): void {
    const { active, state } = this.#fleet.namespace().placement;
    if (active !== this.id) this.open = false;
    else if (state.kind === 'active') {
      this.open = true;
      this.gated = false;
    }
  }

  append(shard: number): void {
    this.log[shard] = (this.log[shard] ?? 0) + 1;
  }
}

export class FakeFleet implements FleetMapStore {
  readonly #inner: MemoryFleetMap;
  readonly #cells = new Map<string, FakeCell>();
  readonly clock: VirtualClock;
  readonly rng: Rng;
  readonly broken: string[] = [];
  readonly trouble: Trouble = { failures: 0, longestDelayMs: 5, laneSpeed: 3 };
  #map: FleetMap;

  constructor(map: FleetMap, ports: { readonly clock: VirtualClock; readonly rng: Rng }) {
    this.#inner = new MemoryFleetMap(map);
    this.#map = map;
    this.clock = ports.clock;
    this.rng = ports.rng;
    for (const id of ['east', 'west']) this.#cells.set(id, new FakeCell(id, this));
  }

  cell(id: string): FakeCell {
    const cell = this.#cells.get(id);
    if (cell === undefined) throw new Error(`no cell ${id}`);
    return cell;
  }

  control(id: string): CellControl {
    return this.cell(id);
  }

  namespace(): Namespace {
    const [namespace] = Object.values(this.#map.namespaces);
    if (namespace === undefined) throw new Error('no namespace');
    return namespace;
  }

  /** A write at whoever takes it, and the lanes' next records. */
  live(): void {
    for (const cell of this.#cells.values()) {
      if (cell.open) this.#write(cell);
      const other = this.cell(cell.id === 'east' ? 'west' : 'east');
      cell.log.forEach((seq, shard) => {
        const applied = (other.applied[shard] ?? 0) + this.trouble.laneSpeed;
        other.applied[shard] = Math.min(seq, applied);
      });
    }
  }

  #write(cell: FakeCell): void {
    const { active, state } = this.namespace().placement;
    if (active !== cell.id) this.broken.push(`P2: ${cell.id} takes writes, ${active} is active`);
    const flipped = state.kind === 'active' && active !== 'east';
    if (cell.id === 'east' && flipped) this.broken.push('P2: the old cell took a write');
    cell.append(Math.floor(this.rng.fraction() * SHARDS));
  }

  async read(): Promise<FleetMap> {
    await this.#delay();
    this.#mayFail();
    return this.#map;
  }

  /** Lands late, whether or not its caller still lives. */
  async compareAndSet(expected: number, next: FleetMap, signal: AbortSignal): Promise<SetOutcome> {
    signal.throwIfAborted();
    await this.#delay();
    this.#mayFail();
    const before = this.namespace();
    const outcome = await this.#inner.compareAndSet(expected, next, new AbortController().signal);
    if (outcome.kind === 'set') {
      this.#map = next;
      this.#checkFlip(before);
    }
    this.#mayFail();
    return outcome;
  }

  watch(listener: (map: FleetMap) => void): () => void {
    return this.#inner.watch(listener);
  }

  async call<Value>(signal: AbortSignal, run: () => Value): Promise<Value> {
    signal.throwIfAborted();
    await this.#delay();
    this.#mayFail();
    const value = run();
    await this.#delay();
    this.#mayFail();
    return value;
  }

  /** P5: when the flip lands the source is closed, and the target has all that it took. */
  #checkFlip(before: Namespace): void {
    const { active } = this.namespace().placement;
    if (active === before.placement.active) return;
    const [from, to] = [this.cell(before.placement.active), this.cell(active)];
    if (!from.gated || from.open) this.broken.push('P2: flipped while the source was open');
    const behind = from.log.some((seq, shard) => (to.applied[shard] ?? 0) < seq);
    if (behind) this.broken.push('P5: flipped before the target had applied everything');
  }

  #delay(): Promise<void> {
    const { longestDelayMs } = this.trouble;
    const rare = this.rng.fraction() < 0.02 ? 50 : 1;
    return sleep(this.clock, this.rng.fraction() * longestDelayMs * rare);
  }

  #mayFail(): void {
    if (this.rng.fraction() >= this.trouble.failures) return;
    throw new AtollError('unavailable', 'a fault of the test');
  }
}
