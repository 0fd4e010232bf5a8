/**
 * The fleet that is tormented: PostgreSQL, two cells, a router and two admins, each a process of its own; and the operator's
 * commands against an admin that lives.
 */
import { operator, type OperatorRun } from '../../../bin/testing/operator.ts';
import type { LiveProcess } from '../live-process.ts';
import { TwoCells } from '../two-cells.ts';
import type { MoveStep } from './move-step.ts';

type Admin = { readonly process: LiveProcess; readonly address: string };

export class MoveFleet {
  readonly cells: TwoCells;
  /** The router's `host:port`. */
  readonly address: string;
  #admins: readonly Admin[];

  private constructor(cells: TwoCells, address: string, admins: readonly Admin[]) {
    this.cells = cells;
    this.address = address;
    this.#admins = admins;
  }

  /** `mains` is the folder of compiled mains; data and logs go to `folder`; `flags` are the cells'. */
  static async start(
    mains: string,
    folder: string,
    flags: readonly string[] = [],
  ): Promise<MoveFleet> {
    const cells = await TwoCells.start(mains, folder, flags);
    const { address } = await cells.beside('router-main');
    const admins = [await cells.beside('admin-main'), await cells.beside('admin-main')];
    return new MoveFleet(cells, address, admins);
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
    this.#admins = [...left, await this.cells.beside('admin-main')];
  }

  /** Processes that ended by themselves. */
  ended(): readonly string[] {
    const all = [...this.cells.processes, ...this.#admins.map((admin) => admin.process)];
    return all.filter((one) => !one.running).map((one) => `${one.name} ended by itself`);
  }
}
