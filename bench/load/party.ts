/**
 * The bench's end of the channel to a helper process: the thin worker or the load generator.
 *
 * Invariants
 *  1. A helper that ends without being told to makes the scenario fail.
 *  2. Every helper that was started is ended at the end of the bench (`stopParties`).
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type {
  LoadOptions,
  LoadReport,
  News,
  Order,
  WorkerOptions,
  WorkerReport,
} from './messages.ts';

const LOADER = import.meta.resolve('tsx');

const parties = new Set<{ stop(): Promise<void> }>();

export class Party<Report> {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #exited: Promise<unknown>;
  #told = false;

  private constructor(name: string, file: string, options: object) {
    this.#name = name;
    this.#child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(options)], {
      execArgv: ['--import', LOADER],
    });
    parties.add(this);
    this.#exited = once(this.#child, 'exit').finally(() => parties.delete(this));
  }

  static async worker(options: WorkerOptions): Promise<Party<WorkerReport>> {
    const party = new Party<WorkerReport>('the worker', '../worker-main.ts', options);
    await party.news('ready');
    return party;
  }

  static async load(options: LoadOptions): Promise<Party<LoadReport>> {
    const party = new Party<LoadReport>('the load generator', '../load-main.ts', options);
    await party.news('ready');
    return party;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  tell(order: Order): void {
    if (order.kind === 'stop') this.#told = true;
    if (this.#child.connected) this.#child.send(order, () => {});
  }

  /** The next news of that kind. Rejects when the helper ends first. */
  news<Kind extends News<Report>['kind']>(
    kind: Kind,
  ): Promise<Extract<News<Report>, { readonly kind: Kind }>> {
    return new Promise((resolve, reject) => {
      const onMessage = (news: News<Report>) => {
        if (news.kind !== kind) return;
        forget();
        resolve(news as Extract<News<Report>, { readonly kind: Kind }>);
      };
      const onExit = () => {
        forget();
        if (!this.#told) reject(new Error(`${this.#name} ended by itself: see what it said above`));
      };
      const forget = () => {
        this.#child.off('message', onMessage);
        this.#child.off('exit', onExit);
      };
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) return onExit();
      this.#child.on('message', onMessage);
      this.#child.on('exit', onExit);
    });
  }

  async report(): Promise<Report> {
    const reported = this.news('report');
    this.tell({ kind: 'report' });
    return (await reported).report;
  }

  async stop(): Promise<void> {
    this.tell({ kind: 'stop' });
    await this.#exited;
  }
}

/** Ends all helpers that still run. */
export async function stopParties(): Promise<void> {
  await Promise.all([...parties].map((party) => party.stop()));
}
