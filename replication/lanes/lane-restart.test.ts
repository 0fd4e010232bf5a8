import { afterEach, describe, expect, it } from 'vitest';
import type { ReplicationConfig } from '../config.ts';
import { runRef, TwoCells } from '../testing/two-cells.ts';

describe('a lane whose source was restarted', () => {
  let cells: TwoCells;
  const make = (options: ConstructorParameters<typeof TwoCells>[0] = {}) => {
    cells = new TwoCells(options);
    return cells;
  };
  afterEach(() => cells.close());

  /** Rows that the target lacks are in the log of a cell whose process ends. */
  const behind = async (rows: number, config: Partial<ReplicationConfig>) => {
    const { a } = make({ config });
    await cells.settle();
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    cells.breakTarget();
    for (let i = 0; i < rows; i += 1) a.replicas.write(runRef(i % 5), { epoch: 1, text: `t${i}` });
    await cells.restart('a');
    a.replicas.write(runRef(1), { epoch: 1, text: 'after the takeover' });
    cells.healTarget();
    await cells.settle();
    cells.expectSame();
    return a.out.calls.get('images') ?? 0;
  };

  it.each([1, 3, 200])(
    'sends from the log what an earlier owner had not been told is there, %i rows a read',
    async (logPageRows) => {
      expect(await behind(30, { logPageRows })).toBe(0);
    },
  );

  it('sends from the log what is more than one read of it brings', async () => {
    expect(await behind(1_500, {})).toBe(0);
  });

  it('copies where what is to be read from the log is more than may wait', async () => {
    expect(await behind(300, { loadingBytes: 10_000 })).toBeGreaterThan(0);
  });

  it('copies what changed since its position when the log is gone', async () => {
    const { a } = make({ config: { laneBudgetMs: 5_000 } });
    await cells.settle();
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    cells.breakTarget();
    for (let i = 0; i < 30; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    await cells.clock.advanceSettled(7_000);
    const saved = cells.status().applied;
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    expect(saved.every(({ seq }) => seq <= 1)).toBe(true);
    await cells.restart('a');
    cells.healTarget();
    await cells.settle();
    cells.expectSame();
  });
});
