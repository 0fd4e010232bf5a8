/**
 * The ways between the processes of a fleet: cells, map store, orchestrators, routers. Each direction on its own can be cut
 * or slow; each message can be lost, late or doubled, and so can its answer.
 *
 * Invariants
 *  1. What is lost or late for the caller may have happened all the same.
 *  2. A callee that is not there, or dies meanwhile, breaks the call; a way that is cut says nothing, or says so late.
 *  3. The caller hears only while its own gate is open.
 */
import { AtollError } from '../../../kernel/errors.ts';
import type { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import type { Tally } from '../tally.ts';
import type { Trace } from '../trace.ts';
import type { WorldTime } from '../world-time.ts';
import type { Place } from './place.ts';
import type { FleetFault } from './tally.ts';

/** How likely faults are on a fleet's ways; each seed draws its own. */
export type FleetWeather = {
  readonly lost: number;
  readonly answerLost: number;
  readonly doubled: number;
  readonly late: number;
  readonly mapLate: number;
};

export type Way = {
  readonly from: Place;
  readonly to: string;
  readonly kind: 'lane' | 'control' | 'map' | 'call';
};

const MOST_LATE_MS = 2_500;
const MOST_MAP_LATE_MS = 7_000;
const SAYS_SO = 0.6;
/** A connection that says nothing is given up by its pings. */
const PING_MS = 15_000;

export function drawFleetWeather(rng: SeededRng): FleetWeather {
  const chance = (most: number) => (rng.chance(0.3) ? 0 : rng.fraction() * most);
  return {
    lost: chance(0.06),
    answerLost: chance(0.06),
    doubled: chance(0.08),
    late: chance(0.08),
    mapLate: chance(0.2),
  };
}

export class Links {
  active = true;
  readonly #parts: {
    readonly time: WorldTime;
    readonly rng: SeededRng;
    readonly weather: FleetWeather;
    readonly tally: Tally<FleetFault>;
    readonly trace: Trace;
  };
  readonly #cut = new Set<string>();
  readonly #slowMs = new Map<string, number>();

  constructor(parts: {
    readonly time: WorldTime;
    readonly rng: SeededRng;
    readonly weather: FleetWeather;
    readonly tally: Tally<FleetFault>;
    readonly trace: Trace;
  }) {
    this.#parts = parts;
  }

  /** Nothing goes that way until it is mended. */
  cut(from: string, to: string): void {
    this.#parts.trace.note(`the way from ${from} to ${to} is cut`);
    this.#cut.add(`${from}>${to}`);
  }

  mend(from: string, to: string): void {
    this.#cut.delete(`${from}>${to}`);
  }

  isCut(from: string, to: string): boolean {
    return this.#cut.has(`${from}>${to}`);
  }

  /** Lane messages that way take so much longer; 0: no more. */
  slow(from: string, to: string, ms: number): void {
    this.#slowMs.set(`${from}>${to}`, ms);
  }

  heal(): void {
    this.active = false;
    this.#cut.clear();
    this.#slowMs.clear();
  }

  /** How late a notice of the map comes. */
  noticeMs(): number {
    const { rng, weather } = this.#parts;
    if (!this.#happens(weather.mapLate, 'watch late')) return 1 + rng.fraction() * 10;
    return rng.fraction() * MOST_MAP_LATE_MS;
  }

  /** Carries a call to whoever is `target` when it arrives, and its answer back. */
  carry<To extends Place, Result>(
    way: Way,
    target: () => To | undefined,
    call: (to: To) => Promise<Result>,
  ): Promise<Result> {
    const { time } = this.#parts;
    const { from, to } = way;
    const answered = new Promise<Result>((resolve, reject) => {
      const fail = (why: string, afterMs: number) =>
        void time.after(afterMs, () => reject(new AtollError('unavailable', `${to}: ${why}`)));
      const fate = this.#fate(way);
      const silence = (why: string) => {
        fail(why, fate.saysSo ? fate.replyMs + 100 : PING_MS);
      };
      const arrive = (isFirst: boolean) => {
        const place = target();
        const answer = (say: () => void) => {
          if (!isFirst) return;
          if (fate.answerLost || this.isCut(to, from.name)) silence('the answer was lost');
          else time.after(fate.replyMs, say);
        };
        if (place) this.#run(place, call, { resolve, reject, answer });
        else answer(() => fail('nobody is there', 0));
      };
      if (this.isCut(from.name, to) || fate.lost) return silence('the message was lost');
      time.after(fate.requestMs, () => arrive(true));
      const { againMs } = fate;
      if (againMs !== undefined) time.after(fate.requestMs + againMs, () => arrive(false));
    });
    return from.gate.hear(answered);
  }

  #run<To extends Place, Result>(
    place: To,
    call: (to: To) => Promise<Result>,
    heard: {
      readonly resolve: (result: Result) => void;
      readonly reject: (error: unknown) => void;
      readonly answer: (say: () => void) => void;
    },
  ): void {
    const { resolve, reject, answer } = heard;
    const died = () => answer(() => reject(new AtollError('unavailable', `${place.name} is gone`)));
    const stop = place.gate.onDeath(died);
    place.gate.enter(() => {
      call(place)
        .finally(stop)
        .then(
          (result) => answer(() => resolve(result)),
          (error: unknown) => answer(() => reject(error)),
        );
    });
  }

  #fate({ from, to, kind }: Way) {
    const { rng, weather } = this.#parts;
    const near = 0.3 + rng.fraction() * 3;
    const slowMs = kind === 'lane' ? (this.#slowMs.get(`${from.name}>${to}`) ?? 0) : 0;
    if (slowMs > 0) this.#parts.tally.add('slow lane');
    const isMap = kind === 'map';
    const late = isMap
      ? this.#happens(weather.mapLate, 'compare-and-set late')
      : this.#happens(weather.late, 'message late');
    const lateMs = late ? rng.fraction() ** 2 * (isMap ? MOST_MAP_LATE_MS : MOST_LATE_MS) : 0;
    return {
      requestMs: near + slowMs + lateMs,
      replyMs: 0.3 + rng.fraction() * 3,
      lost: this.#happens(weather.lost, 'message lost'),
      answerLost: this.#happens(weather.answerLost, 'answer lost'),
      againMs: this.#happens(weather.doubled, 'message doubled')
        ? rng.fraction() ** 2 * 4_000
        : undefined,
      saysSo: rng.chance(SAYS_SO),
    };
  }

  #happens(chance: number, fault: FleetFault): boolean {
    const { rng, tally } = this.#parts;
    if (!this.active || !rng.chance(chance)) return false;
    tally.add(fault);
    return true;
  }
}
