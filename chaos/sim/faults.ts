/**
 * What goes wrong in a world, drawn from its seed: the fates of statements and of calls, and the weather that some of them
 * depend on.
 *
 * Invariants
 *  1. While `active` is false nothing goes wrong any more; what is under way still lands.
 *  2. A fault is counted when it happens.
 */
import type {
  StatementFate,
  StoreFaults,
  StoreStatement,
} from '../../cell/storage/memory/store-faults.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import type { Fault, Tally } from './tally.ts';
import type { Trace } from './trace.ts';

/** How likely faults are in a world; each seed draws its own. */
export type Weather = {
  readonly statementLost: number;
  readonly statementLate: number;
  readonly statementDoubled: number;
  readonly storeReplyLost: number;
  readonly requestLost: number;
  readonly replyLost: number;
  readonly requestDoubled: number;
  readonly workerLosesTask: number;
  readonly workerSlow: number;
  readonly pollersLate: number;
};

export type CallFate = {
  readonly requestMs: number;
  readonly replyMs: number;
  readonly requestLost: boolean;
  readonly replyLost: boolean;
  readonly doubledMs: number | undefined;
};

type Sky = 'clear' | 'slow' | 'failing';

const MOST_LATE_MS = 25_000;
const MOST_WORKER_DELAY_MS = 4_500;
const MOST_POLLERS_LATE_MS = 4_000;

export function drawWeather(rng: SeededRng): Weather {
  const chance = (most: number) => (rng.chance(0.3) ? 0 : rng.fraction() * most);
  return {
    statementLost: chance(0.02),
    statementLate: chance(0.03),
    statementDoubled: chance(0.05),
    storeReplyLost: chance(0.03),
    requestLost: chance(0.03),
    replyLost: chance(0.04),
    requestDoubled: chance(0.06),
    workerLosesTask: chance(0.04),
    workerSlow: chance(0.2),
    pollersLate: chance(0.6),
  };
}

export class Faults implements StoreFaults {
  active = true;
  sky: Sky = 'clear';
  readonly #rng: SeededRng;
  readonly #weather: Weather;
  readonly #tally: Tally<Fault>;
  readonly #trace: Trace;

  constructor(options: {
    readonly rng: SeededRng;
    readonly weather: Weather;
    readonly tally: Tally<Fault>;
    readonly trace: Trace;
  }) {
    this.#rng = options.rng;
    this.#weather = options.weather;
    this.#tally = options.tally;
    this.#trace = options.trace;
  }

  count(fault: Fault): void {
    this.#tally.add(fault);
  }

  fateOf(statement: StoreStatement): StatementFate {
    const fate = this.#drawFate(statement.kind);
    const rows = statement.rows.map((row) => `${row.shard}:${row.seq}r${row.range}`).join(' ');
    const which = rows === '' ? statement.shards.join(' ') : rows;
    this.#trace.note(
      `  store ${statement.kind} ${which}${fate.kind === 'ok' ? '' : ` ${fate.kind}`}`,
    );
    return fate;
  }

  #drawFate(kind: StoreStatement['kind']): StatementFate {
    if (!this.active) return { kind: 'ok' };
    if (this.sky === 'failing') return this.#failing();
    const slowMs = this.sky === 'slow' ? this.#slowMs() : 0;
    const drawn = this.#rng.fraction();
    const { statementLost, statementLate, statementDoubled, storeReplyLost } = this.#weather;
    const isWrite = kind === 'append' || kind === 'checkpoint' || kind === 'claim';
    let edge = statementLost;
    if (drawn < edge) {
      this.count('statement lost');
      return { kind: 'lost', ...this.#noticed() };
    }
    if (drawn < (edge += statementLate) && isWrite) {
      this.count('statement late');
      const landMs = 50 + this.#rng.fraction() ** 2 * MOST_LATE_MS;
      return { kind: 'late', landMs, times: this.#rng.chance(0.3) ? 2 : 1, ...this.#noticed() };
    }
    if (drawn < (edge += storeReplyLost)) {
      this.count('store reply lost');
      return { kind: 'lost-reply', landMs: slowMs, ...this.#noticed() };
    }
    if (drawn < edge + statementDoubled && isWrite) {
      this.count('statement doubled');
      return { kind: 'ok', landMs: slowMs, echoMs: this.#rng.fraction() ** 2 * MOST_LATE_MS };
    }
    return { kind: 'ok', landMs: slowMs, answerMs: this.#rng.fraction() * 2 };
  }

  /** Most callers learn soon that the connection broke; some only at their own deadline. */
  #noticed(): { failMs?: number } {
    return this.#rng.chance(0.7) ? { failMs: this.#rng.integer(1, 500) } : {};
  }

  #failing(): StatementFate {
    this.count('store failing');
    return this.#rng.chance(0.5)
      ? { kind: 'rejected', reason: 'the store is failing' }
      : { kind: 'conflict' };
  }

  #slowMs(): number {
    this.count('store slow');
    return this.#rng.integer(200, 6_000);
  }

  callFate(): CallFate {
    const rng = this.#rng;
    const far = this.active && rng.chance(0.05);
    const delay = () => 0.2 + rng.fraction() * (far ? 400 : 5);
    const happens = (chance: number, fault: Fault) => {
      if (!this.active || !rng.chance(chance)) return false;
      this.count(fault);
      return true;
    };
    const { requestLost, replyLost, requestDoubled } = this.#weather;
    return {
      requestMs: delay(),
      replyMs: delay(),
      requestLost: happens(requestLost, 'request lost'),
      replyLost: happens(replyLost, 'reply lost'),
      doubledMs: happens(requestDoubled, 'request doubled') ? rng.fraction() * 3_000 : undefined,
    };
  }

  /** How long a worker takes for a task beyond what it needs: owners may change meanwhile, and its task may time out. */
  workerDelayMs(): number {
    if (!this.active || !this.#rng.chance(this.#weather.workerSlow)) return 0;
    this.count('worker slow with a task');
    return this.#rng.fraction() * MOST_WORKER_DELAY_MS;
  }

  /**
   * How long nobody polls a host that came up: meanwhile it knows of no start, and has to tell from its state whether
   * an answer to a start of its predecessor still holds (PROTOCOLS 6).
   */
  pollersLateMs(): number {
    if (!this.active || !this.#rng.chance(this.#weather.pollersLate)) return 0;
    this.count('pollers late at a host');
    return this.#rng.fraction() * MOST_POLLERS_LATE_MS;
  }

  workerLosesTask(): boolean {
    if (!this.active || !this.#rng.chance(this.#weather.workerLosesTask)) return false;
    this.count('worker lost a task');
    return true;
  }
}
