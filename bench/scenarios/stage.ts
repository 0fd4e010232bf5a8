/**
 * What a scenario plays on: an engine of its own, the meter, a worker and a load generator whenever it asks.
 *
 * Invariants
 *  1. Helpers that a round started are ended, and no longer measured, before the next one.
 *  2. The window of the samples lies inside that of the meter, and both are as long as was asked for.
 */
import type { LoadReport, Work, WorkerOptions, WorkerReport } from '../load/messages.ts';
import { Party } from '../load/party.ts';
import { sleep } from '../load/time.ts';
import type { Cost, Meter } from '../measure/meter.ts';
import { NAMESPACE, type Engine } from '../server/engine.ts';

/** Connections and polls of each kind, as thin-bench has them: the load keeps its shape from release to release. */
const SESSIONS = 4;
const POLLERS = 32;

export type Settings = {
  /** Length of a window. */
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Runs that the memory scenario opens. */
  readonly openRuns: number;
};

export class Stage {
  readonly engine: Engine;
  readonly meter: Meter;
  readonly settings: Settings;
  readonly #taskQueue: string;
  readonly #namespace: string;
  #parties: { stop(): Promise<void> }[] = [];

  /** @param taskQueue of this round alone */
  constructor(parts: {
    readonly engine: Engine;
    readonly meter: Meter;
    readonly settings: Settings;
    readonly taskQueue: string;
    readonly namespace?: string;
  }) {
    this.engine = parts.engine;
    this.meter = parts.meter;
    this.settings = parts.settings;
    this.#taskQueue = parts.taskQueue;
    this.#namespace = parts.namespace ?? NAMESPACE;
  }

  /** The same for another namespace; its helpers are its own. */
  of(namespace: string): Stage {
    const { engine, meter, settings } = this;
    return new Stage({ engine, meter, settings, taskQueue: this.#taskQueue, namespace });
  }

  /** A thin worker that polls the router. */
  async worker(
    over: Partial<Pick<WorkerOptions, 'activities' | 'eager' | 'sticky'>> = {},
  ): Promise<Party<WorkerReport>> {
    const party = await Party.worker({
      ...this.#common(this.engine.address),
      pollers: POLLERS,
      activities: true,
      eager: false,
      sticky: false,
      ...over,
    });
    this.#parties.push(party);
    this.meter.watch('worker', () => party.pid);
    return party;
  }

  /** A load generator; it begins when it is told to. */
  async load(work: Work, address: string = this.engine.address): Promise<Party<LoadReport>> {
    const party = await Party.load({ ...this.#common(address), work });
    this.#parties.push(party);
    this.meter.watch('load', () => party.pid);
    return party;
  }

  /** Warms up, then records for the settings' seconds. */
  async window(parties: readonly Party<unknown>[]): Promise<Cost> {
    await sleep(this.settings.warmupSeconds * 1000);
    const begin = await this.meter.begin();
    for (const party of parties) party.tell({ kind: 'record', on: true });
    await sleep(this.settings.seconds * 1000);
    for (const party of parties) party.tell({ kind: 'record', on: false });
    return this.meter.end(begin);
  }

  /** Ends the helpers. */
  async clear(): Promise<void> {
    this.meter.unwatch('worker');
    this.meter.unwatch('load');
    const parties = this.#parties;
    this.#parties = [];
    await Promise.all(parties.map((party) => party.stop()));
  }

  #common(address: string) {
    const [namespace, taskQueue] = [this.#namespace, this.#taskQueue];
    return { address, namespace, taskQueue, sessions: SESSIONS };
  }
}
