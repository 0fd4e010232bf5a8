/**
 * PostgreSQL and two cells, each a process of its own, that can be killed and started again on the data they had.
 *
 * Place: under the fleets of the game days (chaos/gameday) and of the moves that are tormented (moves/); both start router and
 * admins beside it.
 */
import { join } from 'node:path';
import { LiveProcess } from './live-process.ts';

export const CELLS = ['a', 'b'] as const;
export type CellId = (typeof CELLS)[number];

export class TwoCells {
  /** Of the fleet map and its keys. */
  readonly folder: string;
  readonly databaseUrl: (id: CellId) => string;
  readonly #cells = new Map<CellId, LiveProcess>();
  readonly #main: (name: string, args: readonly string[], log?: string) => LiveProcess;
  readonly #flags: readonly string[];

  private constructor(parts: {
    readonly folder: string;
    readonly databaseUrl: (id: CellId) => string;
    readonly main: (name: string, args: readonly string[], log?: string) => LiveProcess;
    readonly flags: readonly string[];
  }) {
    this.folder = parts.folder;
    this.databaseUrl = parts.databaseUrl;
    this.#main = parts.main;
    this.#flags = parts.flags;
  }

  /** `mains` is the folder of compiled mains; data and logs go to `folder`; `flags` are the cells'. Resolves once they serve. */
  static async start(
    mains: string,
    folder: string,
    flags: readonly string[] = [],
  ): Promise<TwoCells> {
    const main = (name: string, args: readonly string[], log = name) =>
      new LiveProcess(log, [join(mains, `${name}.js`), ...args], {
        logFile: join(folder, `${log}.log`),
        runsDatabase: name === 'postgres-main',
      });
    const postgres = main('postgres-main', ['--data', join(folder, 'postgres')]);
    const url = new URL(String((await postgres.ready())['url']));
    const databaseUrl = (id: CellId) => {
      url.pathname = `/atoll_cell_${id}`;
      return url.href;
    };
    const cells = new TwoCells({ folder: join(folder, 'fleet'), databaseUrl, main, flags });
    await Promise.all(CELLS.map((id) => cells.restart(id)));
    return cells;
  }

  /** A process beside the cells, on the same fleet map, and its `host:port`. */
  async beside(
    name: 'router-main' | 'admin-main',
  ): Promise<{ readonly process: LiveProcess; readonly address: string }> {
    const started = this.#main(name, ['--fleet', this.folder]);
    return { process: started, address: String((await started.ready())['address']) };
  }

  signal(id: CellId, signal: NodeJS.Signals): void {
    const cell = this.#cells.get(id);
    if (cell?.running) process.kill(cell.pid, signal);
  }

  async kill(id: CellId): Promise<void> {
    await this.#cells.get(id)?.kill();
  }

  /** Starts a cell that is not running, on the data it had; resolves once it serves. */
  async restart(id: CellId): Promise<void> {
    const url = this.databaseUrl(id);
    const args = ['--cell-id', id, '--postgres-url', url, '--fleet', this.folder, ...this.#flags];
    const cell = this.#main('cell-main', args, `cell-${id}`);
    this.#cells.set(id, cell);
    await cell.ready();
  }

  /** The cells' processes. */
  get processes(): readonly LiveProcess[] {
    return [...this.#cells.values()];
  }
}
