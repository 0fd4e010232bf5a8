/**
 * Makes what befalls a fleet, at times drawn from the seed: crashes of cells and orchestrators, ways cut one way, slow
 * lanes, clocks that jump; and what people ask of it: moves, moves back, aborts, forced failovers.
 *
 * Invariant: after `endMs` everything is healed: ways are mended, cells run, clocks agree, an orchestrator runs.
 */
import { sleep } from '../../../kernel/clock.ts';
import type { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import type { Tally } from '../tally.ts';
import { MAP } from './late-map.ts';
import type { Links } from './links.ts';
import type { Place } from './place.ts';
import type { Operators } from './operators.ts';
import type { FleetParts, SimCell } from './sim-cell.ts';
import type { FleetFault } from './tally.ts';

export type DirectorParts = FleetParts & {
  readonly cells: readonly SimCell[];
  readonly routers: readonly Place[];
  readonly operators: Operators;
  readonly links: Links;
  readonly rng: SeededRng;
  readonly tally: Tally<FleetFault>;
  readonly endMs: number;
  /** The longest between two acts. */
  readonly restMs: number;
  /** Whether this world has forced failovers. */
  readonly forces: boolean;
};

type Act =
  | 'crash-cell'
  | 'crash-under-append'
  | 'start-without-map'
  | 'crash-orchestrator'
  | 'cut-cells'
  | 'cut-map'
  | 'cut-orchestrator'
  | 'control-away'
  | 'slow-lane'
  | 'jump'
  | 'move'
  | 'abort'
  | 'failover';

const FAULTS: readonly Act[] = [
  'crash-cell',
  'crash-under-append',
  'start-without-map',
  'crash-orchestrator',
  'cut-cells',
  'cut-map',
  'cut-orchestrator',
  'control-away',
  'slow-lane',
  'jump',
];
const JUMP_MS = 300;
/** Two clocks that are each off by no more are near enough for a move. */
const OFF_MS = 450;
/** How many of the turns of a move are struck, and how soon. */
const STRUCK = 0.4;
const SOON_MS = 400;

export class FleetDirector {
  readonly #parts: DirectorParts;
  readonly #acts: readonly Act[];
  readonly #faults: readonly Act[];

  constructor(parts: DirectorParts) {
    this.#parts = parts;
    const { rng, forces } = parts;
    const faults = FAULTS.filter(() => rng.chance(0.7));
    this.#faults = faults;
    const asked: readonly Act[] = ['move', 'move', 'move', 'abort'];
    this.#acts = [...faults, ...asked, ...(forces ? (['failover', 'failover'] as const) : [])];
  }

  async run(): Promise<void> {
    const { time, rng, endMs, restMs } = this.#parts;
    for (;;) {
      await sleep(time, rng.integer(50, restMs));
      if (time.monotonicMs() >= endMs) break;
      this.#act(rng.pick(this.#acts));
    }
    this.#heal();
  }

  /** A handover begins, or an epoch: what goes wrong right then is the hardest. */
  turned(): void {
    const { time, rng, endMs } = this.#parts;
    if (this.#faults.length === 0 || !rng.chance(STRUCK)) return;
    const act = rng.pick(this.#faults);
    time.after(rng.fraction() * SOON_MS, () => {
      if (time.monotonicMs() < endMs) this.#act(act);
    });
  }

  #act(act: Act): void {
    const { rng, links, tally, cells, operators, time } = this.#parts;
    const cell = rng.pick(cells);
    const other = cell.id === 'a' ? 'b' : 'a';
    const forMs = rng.chance(0.3) ? rng.integer(3_000, 12_000) : rng.integer(200, 3_000);
    switch (act) {
      case 'crash-cell':
        if (!cell.isUp) return;
        tally.add('cell crash');
        cell.kill();
        return void time.after(rng.integer(100, 4_000), () => cell.start());
      case 'crash-under-append':
        return cell.killUnderAppend(rng.fraction() * 8, () => {
          tally.add('cell crash under an append');
          this.#startAgain(cell);
        });
      case 'start-without-map':
        if (!cell.isUp) return;
        tally.add('started without the map');
        cell.kill();
        this.#cut(MAP, cell.id, forMs + 1_000);
        this.#cut(cell.id, MAP, forMs + 1_000);
        return void time.after(rng.integer(1, 500), () => cell.start());
      case 'crash-orchestrator':
        if (!operators.kill()) return;
        tally.add('orchestrator crash');
        return void time.after(rng.integer(100, 3_000), () => void operators.start());
      case 'cut-cells':
        tally.add('cells cut one way');
        return this.#cut(cell.id, other, forMs);
      case 'cut-map': {
        tally.add('map cut one way');
        if (rng.chance(0.3)) return this.#cut(MAP, rng.pick(this.#parts.routers).name, forMs);
        const [from, to] = rng.chance(0.5) ? [cell.id, MAP] : [MAP, cell.id];
        return this.#cut(from, to, forMs);
      }
      case 'cut-orchestrator': {
        const [one] = operators.running;
        if (!one) return;
        tally.add('orchestrator cut one way');
        const far = rng.chance(0.5) ? cell.id : MAP;
        return rng.chance(0.5) ? this.#cut(one.name, far, forMs) : this.#cut(far, one.name, forMs);
      }
      case 'control-away':
        tally.add('control plane away');
        return this.#controlAway([cell.id, other], forMs + 1_000);
      case 'slow-lane':
        links.slow(cell.id, other, rng.integer(200, 3_000));
        return void time.after(2 * forMs, () => links.slow(cell.id, other, 0));
      case 'jump':
        tally.add('clock jump');
        return cell.jumpWallBy(rng.integer(-JUMP_MS, JUMP_MS));
      default:
        return this.#ask(act);
    }
  }

  #ask(act: 'move' | 'abort' | 'failover'): void {
    const { rng, operators, time } = this.#parts;
    if (act !== 'move') void operators.ask(act);
    else void operators.ask(rng.pick(['move', 'back', 'back', 'confirm', 'move']));
    // Failover and failback within the lag.
    if (act === 'failover' && rng.chance(0.5)) {
      time.after(rng.integer(50, 3_000), () => void operators.ask('failover'));
    }
  }

  /** Where failovers are forced, one may follow at once: what the cell had acknowledged too early is missed then. */
  #startAgain(cell: SimCell): void {
    const { rng, time, forces, operators } = this.#parts;
    const afterMs = rng.integer(100, 2_000);
    time.after(afterMs, () => cell.start());
    if (!forces || !rng.chance(0.6)) return;
    time.after(afterMs + rng.integer(50, 1_000), () => void operators.ask('failover'));
  }

  /**
   * A cell and a router hear of neither map nor orchestrators, and serve on by what they know (P12). Where the namespace fails
   * over meanwhile, two cells act, and a worker that asks several routers reaches both; neither may hear what the other decides.
   */
  #controlAway([cell, other]: readonly [string, string], forMs: number): void {
    const { rng, routers, operators, forces, time } = this.#parts;
    this.#cut(MAP, cell, forMs);
    this.#cut(MAP, rng.pick(routers).name, forMs);
    for (const { name } of operators.running) this.#cut(name, cell, forMs);
    if (rng.chance(0.4)) {
      this.#cut(cell, other, forMs);
      if (rng.chance(0.5)) this.#cut(other, cell, forMs);
    }
    if (!forces || !rng.chance(0.6)) return;
    time.after(rng.integer(50, 1_000), () => void operators.ask('failover'));
  }

  #cut(from: string, to: string, forMs: number): void {
    const { links, time } = this.#parts;
    links.cut(from, to);
    time.after(forMs, () => links.mend(from, to));
  }

  #heal(): void {
    const { faults, links, cells, operators, trace } = this.#parts;
    trace.note('everything is healed');
    faults.active = false;
    faults.sky = 'clear';
    links.heal();
    for (const cell of cells) {
      cell.start();
      cell.rightClock(OFF_MS);
    }
    void operators.start();
  }
}
