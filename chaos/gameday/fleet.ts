/**
 * The fleet of a game day: PostgreSQL, two cells, a router and an admin, each a process of its own; and the operator's
 * commands against them.
 */
import { join } from 'node:path';
import { operator, type OperatorRun } from '../../bin/testing/operator.ts';
import { LiveProcess } from '../live/live-process.ts';

export type CellId = 'a' | 'b';

export class Fleet {
  /** The router's `host:port`. */
  readonly address: string;
  /** Runs a command of the operator, such as `move plan orders --to b`. */
  readonly atoll: (line: string) => Promise<OperatorRun>;
  /** Of the fleet map and its keys. */
  readonly folder: string;
  readonly databaseUrl: (id: CellId) => string;
  readonly #cells = new Map<CellId, LiveProcess>();
  readonly #startCell: (id: CellId) => LiveProcess;

  private constructor(parts: {
    readonly address: string;
    readonly admin: string;
    readonly folder: string;
    readonly databaseUrl: (id: CellId) => string;
    readonly cells: ReadonlyMap<CellId, LiveProcess>;
    readonly startCell: (id: CellId) => LiveProcess;
  }) {
    this.address = parts.address;
    this.folder = parts.folder;
    this.databaseUrl = parts.databaseUrl;
    this.atoll = operator(parts.admin);
    this.#cells = new Map(parts.cells);
    this.#startCell = parts.startCell;
  }

  /** `mains` is the folder of compiled mains; data and logs go to `folder`. */
  static async start(
    mains: string,
    folder: string,
    { laneItemsPerSecond }: { readonly laneItemsPerSecond?: number } = {},
  ): Promise<Fleet> {
    const main = (name: string, args: readonly string[], log = name) =>
      new LiveProcess(log, [join(mains, `${name}.js`), ...args], {
        logFile: join(folder, `${log}.log`),
        runsDatabase: name === 'postgres-main',
      });
    const fleet = join(folder, 'fleet');
    const postgres = main('postgres-main', ['--data', join(folder, 'postgres')]);
    const url = new URL(String((await postgres.ready())['url']));
    const databaseUrl = (id: CellId) => {
      url.pathname = `/atoll_cell_${id}`;
      return url.href;
    };
    const quota =
      laneItemsPerSecond === undefined
        ? []
        : ['--lane-items-per-second', String(laneItemsPerSecond)];
    const startCell = (id: CellId) => {
      const args = ['--cell-id', id, '--postgres-url', databaseUrl(id), '--fleet', fleet, ...quota];
      return main('cell-main', args, `cell-${id}`);
    };
    const cells = new Map((['a', 'b'] as const).map((id) => [id, startCell(id)]));
    await Promise.all([...cells.values()].map((cell) => cell.ready()));
    const others = [
      main('router-main', ['--fleet', fleet]),
      main('admin-main', ['--fleet', fleet]),
    ];
    const [address = '', admin = ''] = await Promise.all(
      others.map(async (one) => String((await one.ready())['address'])),
    );
    return new Fleet({ address, admin, folder: fleet, databaseUrl, cells, startCell });
  }

  signal(id: CellId, signal: NodeJS.Signals): void {
    const cell = this.#cells.get(id);
    if (cell?.running) process.kill(cell.pid, signal);
  }

  async kill(id: CellId): Promise<void> {
    await this.#cells.get(id)?.kill();
  }

  /** Starts a cell that was killed, on the data it had; resolves once it serves. */
  async restart(id: CellId): Promise<void> {
    const cell = this.#startCell(id);
    this.#cells.set(id, cell);
    await cell.ready();
  }
}
