/**
 * Kills PostgreSQL under an engine and waits until it runs again.
 *
 * Place: the database round of a phase. In both topologies a supervisor starts it again: the harness's own process, or
 * `atoll dev`.
 */
import { sleep, systemClock } from '../../kernel/clock.ts';
import { childrenOf } from './children-of.ts';

const POSTMASTER = 'postgres';
const AGAIN_MS = 30_000;
const LOOK_MS = 50;
/** From its new postmaster on, crash recovery of a small database included. */
const RECOVERING_MS = 15_000;

/** The PostgreSQL that a supervisor runs; killed for all engines on it. */
export class Database {
  readonly #supervisor: () => number;
  #killedAt = Number.NEGATIVE_INFINITY;

  /** @param supervisor pid of the process that starts it again */
  constructor(supervisor: () => number) {
    this.#supervisor = supervisor;
  }

  /** It was killed so lately that it may not serve yet. */
  get isAway(): boolean {
    return systemClock.monotonicMs() - this.#killedAt < RECOVERING_MS;
  }

  async kill(): Promise<void> {
    this.#killedAt = systemClock.monotonicMs();
    await killPostgres(this.#supervisor());
    this.#killedAt = systemClock.monotonicMs();
  }
}

/** Kills the postmaster below `supervisor` (SIGKILL); resolves once another one is there. Rejects if none comes. */
async function killPostgres(supervisor: number): Promise<void> {
  const [victim] = await childrenOf(supervisor, POSTMASTER);
  if (victim === undefined) throw new Error(`process ${supervisor} runs no PostgreSQL to kill`);
  process.kill(victim, 'SIGKILL');
  const until = systemClock.monotonicMs() + AGAIN_MS;
  while (systemClock.monotonicMs() < until) {
    await sleep(systemClock, LOOK_MS);
    const now = await childrenOf(supervisor, POSTMASTER);
    if (now.some((pid) => pid !== victim)) return;
  }
  throw new Error(`PostgreSQL under process ${supervisor} did not come back in ${AGAIN_MS} ms`);
}
