/**
 * What befalls a fleet at the very turn of a move or a failover, in some worlds: a flip that lands behind an abort; a flip of
 * which the old side and a router do not hear, its cell started anew by the map from before at times; a failover there and
 * back within the lag. Where flips are struck so, moves are asked for often.
 *
 * Place: beside the director, which strikes at any time and seldom hits these. The world tells it of epochs; the store of the
 * map asks it how late a change lands.
 *
 * Invariants
 *  1. It draws from a stream of its own, and only in worlds that have such turns: the others are as they were without it.
 *  2. Once faults are off nothing is struck any more.
 */
import type { FleetMap, Placement } from '../../../fleet/map.ts';
import { sleep } from '../../../kernel/clock.ts';
import type { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import type { Order } from '../client.ts';
import { NAMESPACE_ID } from '../host.ts';
import type { Tally } from '../tally.ts';
import { MAP } from './late-map.ts';
import type { Operators } from './operators.ts';
import type { Place } from './place.ts';
import type { FleetParts, SimCell } from './sim-cell.ts';
import type { FleetFault } from './tally.ts';

/** Which turns a world has. */
export type Turns = 'none' | 'flips' | 'there-and-back';

type TurnParts = FleetParts & {
  readonly turns: Turns;
  readonly rng: SeededRng;
  readonly cells: readonly SimCell[];
  readonly routers: readonly Place[];
  readonly operators: Operators;
  readonly tally: Tally<FleetFault>;
  readonly endMs: number;
};

const LATE_FLIP = 0.25;
const UNSEEN_FLIP = 0.7;
const STARTED_ANEW = 0.5;
const ALL_NAMELESS = { notes: 7, anonymous: [1, 2, 3, 4, 5, 6, 7] };

export function drawTurns(rng: SeededRng): Turns {
  const drawn = rng.fraction();
  if (drawn < 0.2) return 'flips';
  return drawn < 0.35 ? 'there-and-back' : 'none';
}

/** Clients that show what such turns break: who looks often, and notes without a name, which are to be told by their origin. */
export function ordersFor(turns: Turns, orders: readonly Order[]): readonly Order[] {
  const as = { none: {}, flips: { looksWithinMs: 1_000 }, 'there-and-back': ALL_NAMELESS }[turns];
  return orders.map((order) => ({ ...order, ...as }));
}

export class HardTurns {
  readonly #parts: TurnParts;
  #known: Placement | undefined;

  constructor(parts: TurnParts) {
    this.#parts = parts;
    if (parts.turns === 'flips') void this.#moveOften();
    if (parts.turns === 'there-and-back') void this.#thereAndBackAgain();
  }

  /** An epoch begins. */
  began(placement: Placement, { forced }: { readonly forced: boolean }): void {
    this.#known = placement;
    const { rng, tally, cells, routers, time } = this.#parts;
    if (forced || placement.epoch === 1 || !this.#hasFlips || !rng.chance(UNSEEN_FLIP)) return;
    tally.add('flip unseen');
    const forMs = rng.integer(2_000, 6_000);
    const old = cells.find(({ id }) => id !== placement.active);
    for (const name of [old?.id ?? '', rng.pick(routers).name]) this.#cut(MAP, name, forMs);
    if (!old?.isUp || !rng.chance(STARTED_ANEW)) return;
    tally.add('started by the map from before a flip');
    old.kill();
    time.after(rng.integer(1, 300), () => old.start());
  }

  /** How much later than asked that change of the map lands. Somebody aborts the move behind a flip that is late. */
  lateMs({ namespaces }: FleetMap): number {
    const { rng, tally, operators, time } = this.#parts;
    const { placement, moves = [] } = namespaces[NAMESPACE_ID] ?? {};
    const isFlip = (placement?.epoch ?? 0) > (this.#known?.epoch ?? 1);
    const isForced = moves.at(-1)?.kind === 'failover';
    if (!isFlip || isForced || !this.#hasFlips || !rng.chance(LATE_FLIP)) return 0;
    tally.add('flip late, aborted meanwhile');
    const lateMs = rng.integer(300, 2_000);
    time.after(rng.fraction() * lateMs * 0.5, () => void operators.ask('abort'));
    return lateMs;
  }

  get #hasFlips(): boolean {
    const { turns, faults } = this.#parts;
    return turns === 'flips' && faults.active;
  }

  async #moveOften(): Promise<void> {
    const { rng, time, operators } = this.#parts;
    for (;;) {
      await sleep(time, rng.integer(500, 4_000));
      if (!this.#hasFlips) return;
      await operators.ask(rng.pick(['move', 'move', 'back', 'confirm']));
    }
  }

  async #thereAndBackAgain(): Promise<void> {
    const { rng, time, endMs, faults } = this.#parts;
    await sleep(time, rng.fraction() * 0.4 * endMs);
    while (faults.active) {
      await this.#thereAndBack();
      await sleep(time, rng.integer(500, 6_000));
    }
  }

  /**
   * The cell that goes has inputs which the other one hears of only once it has decided for itself, so that it applies them
   * again; what that one decided meanwhile is heard of only after the failover back.
   */
  async #thereAndBack(): Promise<void> {
    const { rng, tally, time, operators, ways, faults, cells } = this.#parts;
    const { links } = ways;
    const from = this.#known?.active ?? 'a';
    const to = cells.find(({ id }) => id !== from)?.id ?? 'b';
    tally.add('failover there and back');
    links.cut(from, to);
    await sleep(time, rng.integer(500, 2_500));
    await operators.ask('failover');
    if (faults.active) links.cut(to, from);
    await sleep(time, rng.integer(200, 2_500));
    links.mend(from, to);
    await sleep(time, rng.integer(1_000, 5_000));
    await operators.ask('failover');
    links.mend(to, from);
  }

  #cut(from: string, to: string, forMs: number): void {
    const { ways, time } = this.#parts;
    ways.links.cut(from, to);
    time.after(forMs, () => ways.links.mend(from, to));
  }
}
