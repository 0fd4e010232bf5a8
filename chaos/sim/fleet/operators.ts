/**
 * The orchestrators of a fleet, real ones (admin/moves), and the people who ask them: any number may run, each may be
 * killed between any two steps.
 */
import { abortMove } from '../../../admin/moves/abort.ts';
import { Orchestrator } from '../../../admin/moves/orchestrator.ts';
import { CachedFleetMap } from '../../../fleet/cached-map.ts';
import { failOver } from '../../../fleet/failover.ts';
import { endMove, startMove } from '../../../fleet/move-changes.ts';
import { runningMove, settledMove } from '../../../fleet/move.ts';
import { namespaceByName, type Change } from '../../../fleet/table.ts';
import type { FleetMap, Namespace } from '../../../fleet/map.ts';
import { withDeadline } from '../../../kernel/deadline.ts';
import { toAtollError } from '../../../kernel/errors.ts';
import type { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { NAMESPACE, NAMESPACE_ID } from '../host.ts';
import { HostGate } from '../host-gate.ts';
import { LinkedControl } from './cell-ways.ts';
import { LateMap } from './late-map.ts';
import type { Place } from './place.ts';
import type { FleetParts } from './sim-cell.ts';

type Operator = Place & {
  readonly gate: HostGate;
  readonly map: CachedFleetMap;
  readonly orchestrator: Orchestrator;
};

export type Asked = 'move' | 'back' | 'confirm' | 'abort' | 'failover';

const ASK_MS = 6_000;
const namespaceId = NAMESPACE_ID;

export class Operators {
  readonly #parts: FleetParts;
  readonly #rng: SeededRng;
  #running: Operator[] = [];
  #started = 0;
  #moves = 0;

  constructor(parts: FleetParts, rng: SeededRng) {
    this.#parts = parts;
    this.#rng = rng;
  }

  get running(): readonly Place[] {
    return this.#running;
  }

  /** A process with an orchestrator; it needs the map to start. */
  async start(): Promise<void> {
    const { time, trace, map, ways } = this.#parts;
    this.#started += 1;
    const name = `orchestrator-${this.#started}`;
    const gate = new HostGate(time, 0);
    const place = { name, gate };
    const log = trace.log(name);
    const store = new LateMap(place, { map, links: ways.links, time });
    let cached: CachedFleetMap;
    try {
      cached = await CachedFleetMap.open({ store, log, clock: gate });
    } catch {
      void time.after(500, () => void this.start());
      return;
    }
    const cells = { control: (cell: string) => new LinkedControl(place, cell, ways) };
    const ports = { map: cached, cells, clock: gate, log, driverId: name };
    const orchestrator = new Orchestrator(ports);
    orchestrator.start();
    trace.note(`${name} starts`);
    this.#running = [...this.#running, { ...place, map: cached, orchestrator }];
  }

  /** SIGKILL of one of them. Returns false when there is none. */
  kill(): boolean {
    const victim = this.#running.length > 0 ? this.#rng.pick(this.#running) : undefined;
    if (!victim) return false;
    this.#parts.trace.note(`${victim.name} is killed`);
    victim.gate.die();
    victim.orchestrator.kill();
    this.#running = this.#running.filter((one) => one !== victim);
    return true;
  }

  /** Asks for something, by the map that one of them knows. What is refused, or not heard, is let be. */
  async ask(what: Asked): Promise<void> {
    if (this.#running.length === 0) return;
    const { name, map, gate } = this.#rng.pick(this.#running);
    const at = gate.now();
    const id = `move-${(this.#moves += 1)}`;
    const options = { what, timeoutMs: ASK_MS };
    try {
      const change = this.#change({ what, id, driver: name, at });
      if (what === 'failover') await map.refresh();
      const seen = map.map;
      await withDeadline(gate, options, (signal) =>
        map.update((newest) => change(newest, seen), signal),
      );
      this.#parts.trace.note(`${name} asks for ${what} ${id}: done`);
    } catch (error) {
      this.#parts.trace.note(`${name} asks for ${what} ${id}: ${toAtollError(error).message}`);
    }
  }

  #change(asked: {
    readonly what: Asked;
    readonly id: string;
    readonly driver: string;
    readonly at: number;
  }): (map: FleetMap, seen: FleetMap) => Change {
    const { what, id: moveId, driver, at } = asked;
    const autoConfirm = this.#rng.chance(0.6);
    const maxPauseMs = this.#rng.chance(0.3) ? 1_000 : this.#rng.integer(2_000, 8_000);
    const common = { namespaceId, at, reason: 'simulated' };
    return (map, seen) => {
      const namespace = namespaceOf(map);
      if (!namespace) return { kind: 'unchanged' };
      const to = otherOf(namespace);
      const settled = settledMove(namespace)?.id;
      const running = runningMove(namespace)?.id ?? 'none';
      switch (what) {
        case 'move':
          return startMove(map, { ...common, moveId, to, maxPauseMs, autoConfirm });
        case 'back':
          return startMove(map, {
            ...common,
            moveId,
            to,
            maxPauseMs,
            autoConfirm: true,
            backOf: settled,
          });
        case 'confirm':
          return endMove(map, { ...common, moveId: settled ?? 'none' });
        case 'abort':
          return abortMove(map, { ...common, moveId: running });
        case 'failover': {
          const { epoch } = namespaceOf(seen)?.placement ?? { epoch: 0 };
          return failOver(map, { ...common, moveId, to, epoch, driver });
        }
      }
    };
  }
}

function namespaceOf(map: FleetMap): Namespace | undefined {
  return namespaceByName(map, NAMESPACE);
}

function otherOf({ placement }: Namespace): string {
  return placement.active === 'a' ? 'b' : 'a';
}
