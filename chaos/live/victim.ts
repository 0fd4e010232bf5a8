/**
 * The engine process that a phase kills again and again, and the database under it.
 *
 * Invariants
 *  1. A kill counts only if the process had reported the step and waited there.
 *  2. After each round the engine serves again, or the phase fails.
 *  3. An end that the harness did not cause is a finding. A start that meets a database that was just killed is caused by
 *     it: the process says so and ends, and is started again, as a supervisor would.
 */
import type { LiveProcess } from './live-process.ts';
import type { Round } from './rounds.ts';
import { countedAs, type Step } from './step.ts';
import type { Tally } from './tally.ts';

const REACH_MS = 20_000;
const TRIES = 3;
const STARTS = 10;

export type VictimOptions = {
  readonly name: string;
  /** Starts the process, armed for a step that it meets while it starts. */
  readonly start: (arm?: Step) => LiveProcess;
  /** Kills PostgreSQL and resolves once it runs again. */
  readonly killDatabase: () => Promise<void>;
  /** It was killed a moment ago: whoever starts now may find it away. */
  readonly databaseAway: () => boolean;
  readonly tally: Tally;
  readonly say: (text: string) => void;
};

export class Victim {
  readonly findings: string[] = [];
  readonly #options: VictimOptions;
  #current: LiveProcess;
  #killing = false;

  constructor(options: VictimOptions) {
    this.#options = options;
    this.#current = this.#start();
  }

  /** Resolves with the ready line's fields once it serves. */
  ready(): Promise<Readonly<Record<string, unknown>>> {
    return this.#current.ready();
  }

  get pid(): number {
    return this.#current.pid;
  }

  /** Carries out one round. */
  async suffer(round: Round): Promise<void> {
    if (round.kind === 'database') {
      await this.#options.killDatabase();
      this.#options.tally.count('PostgreSQL');
      return;
    }
    await this.#killAt(round.step);
    if (round.takeover) await this.#killStarting(round.takeover);
    await this.#serve();
  }

  async stop(): Promise<void> {
    this.#killing = true;
    const { code, signal } = await this.#current.stop();
    if (code !== 0) this.findings.push(`${this.#options.name} stopped with ${signal ?? code}`);
  }

  /** A step that does not come in time is tried again: a run that owes kills has failed. */
  async #killAt(step: Step): Promise<void> {
    for (let left = TRIES; left > 0; left -= 1) {
      if (!this.#current.running) await this.#serve();
      if (!(await this.#current.reach(step, REACH_MS))) continue;
      await this.#kill();
      this.#options.tally.count(countedAs(step));
      return;
    }
    this.#options.say(`${this.#options.name} did not come to "${step}"`);
    await this.#kill();
  }

  async #killStarting(step: Step): Promise<void> {
    for (let left = TRIES; left > 0; left -= 1) {
      this.#current = this.#start(step);
      const reached = await this.#current.reach(step, REACH_MS, 'armed');
      await this.#kill();
      if (!reached) continue;
      this.#options.tally.count(countedAs(step));
      return;
    }
    this.#options.say(`${this.#options.name} did not come to "${step}" while it started`);
  }

  #start(arm?: Step): LiveProcess {
    this.#killing = false;
    const started = this.#options.start(arm);
    void started.exited.then(({ code, signal }) => {
      if (this.#killing && started === this.#current) return;
      if (!started.wasReady && this.#options.databaseAway()) return;
      this.findings.push(`${this.#options.name} ended by itself with ${signal ?? code}`);
    });
    return started;
  }

  /** Starts it until it serves. */
  async #serve(): Promise<void> {
    for (let left = STARTS; left > 0; left -= 1) {
      this.#current = this.#start();
      try {
        await this.#current.ready();
        return;
      } catch (error) {
        if (left === 1 || !this.#options.databaseAway()) throw error;
      }
    }
  }

  async #kill(): Promise<void> {
    this.#killing = true;
    await this.#current.kill();
  }
}
