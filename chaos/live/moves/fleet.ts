/**
 * The fleet that is tormented: PostgreSQL, two cells, a router and two admins, each a process of its own; and the operator's
 * commands against an admin that lives.
 */
import { join } from 'node:path';
import { operator, type OperatorRun } from '../../../bin/testing/operator.ts';
import { LiveProcess } from '../live-process.ts';
import type { MoveStep } from './move-step.ts';

export const CELLS = ['a', 'b'] as const;
export type CellId = (typeof CELLS)[number];

type Admin = { readonly process: LiveProcess; readonly address: string };
type Start = (name: string, args: readonly string[], log?: string) => LiveProcess;

export class MoveFleet {
  /** The router's `host:port`. */
  readonly address: string;
  readonly #cells = new Map<CellId, LiveProcess>();
  readonly #startCell: (id: CellId) => LiveProcess;
  readonly #startAdmin: () => Promise<Admin>;
  #admins: readonly Admin[];

  private constructor(parts: {
    readonly address: string;
    readonly admins: readonly Admin[];
    readonly cells: ReadonlyMap<CellId, LiveProcess>;
    readonly startCell: (id: CellId) => LiveProcess;
    readonly startAdmin: () => Promise<Admin>;
  }) {
    this.address = parts.address;
    this.#admins = parts.admins;
    this.#cells = new Map(parts.cells);
    this.#startCell = parts.startCell;
    this.#startAdmin = parts.startAdmin;
  }

  /** `mains` is the folder of compiled mains; data and logs go to `folder`; `flags` are the cells'. */
  static async start(
    mains: string,
    folder: string,
    flags: readonly string[] = [],
  ): Promise<MoveFleet> {
    const main: Start = (name, args, log = name) =>
      new LiveProcess(log, [join(mains, `${name}.js`), ...args], {
        logFile: join(folder, `${log}.log`),
        runsDatabase: name === 'postgres-main',
      });
    const fleet = join(folder, 'fleet');
    const postgres = main('postgres-main', ['--data', join(folder, 'postgres')]);
    const url = new URL(String((await postgres.ready())['url']));
    const startCell = (id: CellId) => {
      url.pathname = `/atoll_cell_${id}`;
      const args = ['--cell-id', id, '--postgres-url', url.href, '--fleet', fleet, ...flags];
      return main('cell-main', args, `cell-${id}`);
    };
    const cells = new Map(CELLS.map((id) => [id, startCell(id)]));
    await Promise.all([...cells.values()].map((cell) => cell.ready()));
    const startAdmin = async () => {
      const started = main('admin-main', ['--fleet', fleet]);
      return { process: started, address: addressOf(await started.ready()) };
    };
    const router = main('router-main', ['--fleet', fleet]);
    const address = addressOf(await router.ready());
    const admins = [await startAdmin(), await startAdmin()];
    return new MoveFleet({ address, admins, cells, startCell, startAdmin });
  }

  /** Runs a command of the operator on an admin that lives. */
  atoll(line: string): Promise<OperatorRun> {
    const alive = this.#admins.find((admin) => admin.process.running);
    if (alive === undefined) throw new Error('no admin lives');
    return operator(alive.address)(line);
  }

  /** Arms every admin for the step; resolves with the one whose orchestrator waits there, or undefined if none came. */
  async reach(step: MoveStep, withinMs: number): Promise<LiveProcess | undefined> {
    const over = new AbortController();
    const { signal } = over;
    const reached = this.#admins.map(async ({ process: one }) => {
      if (await one.reach(step, withinMs, 'asked', signal)) return one;
      throw new Error('not reached');
    });
    try {
      return await Promise.any(reached);
    } catch {
      return undefined;
    } finally {
      over.abort();
      await Promise.allSettled(reached);
    }
  }

  /** Kills that admin and starts another. */
  async replaceAdmin(victim: LiveProcess): Promise<void> {
    await victim.kill();
    const left = this.#admins.filter((admin) => admin.process !== victim);
    this.#admins = left;
    this.#admins = [...left, await this.#startAdmin()];
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

  /** Processes that ended by themselves. */
  ended(): readonly string[] {
    const all = [...this.#cells.values(), ...this.#admins.map((admin) => admin.process)];
    return all.filter((one) => !one.running).map((one) => `${one.name} ended by itself`);
  }
}

function addressOf(ready: Readonly<Record<string, unknown>>): string {
  return String(ready['address']);
}
