/** The fleet of a game day: PostgreSQL, two cells, a router and an admin, and the operator's commands against them. */
import { operator, type OperatorRun } from '../../bin/testing/operator.ts';
import { TwoCells } from '../live/two-cells.ts';

export type Fleet = {
  readonly cells: TwoCells;
  /** The router's `host:port`. */
  readonly address: string;
  /** Runs a command of the operator, such as `move plan orders --to b`. */
  readonly atoll: (line: string) => Promise<OperatorRun>;
};

/** `mains` is the folder of compiled mains; data and logs go to `folder`. */
export async function startFleet(
  mains: string,
  folder: string,
  { laneItemsPerSecond }: { readonly laneItemsPerSecond?: number } = {},
): Promise<Fleet> {
  const quota =
    laneItemsPerSecond === undefined ? [] : ['--lane-items-per-second', String(laneItemsPerSecond)];
  const cells = await TwoCells.start(mains, folder, quota);
  const [router, admin] = await Promise.all([
    cells.beside('router-main'),
    cells.beside('admin-main'),
  ]);
  return { cells, address: router.address, atoll: operator(admin.address) };
}
