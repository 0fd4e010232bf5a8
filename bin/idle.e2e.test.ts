import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { openSqlStore } from '../cell/storage/sql/sql-store.ts';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { startThrowawayCell } from './testing/throwaway-fleet.ts';

const server = useTestServer();
const QUIET_SECONDS = 6;

test.each([0, 1_000])(
  'a cell without load sends no SQL once its scanner pass is over, with %d open runs',
  async (runs) => {
    const databaseName = `idle_${runs}`;
    const cell = await startThrowawayCell({ kind: 'postgres', url: server.url(databaseName) });
    try {
      for (let i = 0; i < runs; i += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, k) => startRun(cell, `idle-${i + k}`)));
      }
      const quietFor = await quietSeconds(server.url('observer'), databaseName);
      expect(quietFor).toBeGreaterThanOrEqual(QUIET_SECONDS);
    } finally {
      await cell.close();
    }
  },
  90_000,
);

type Cell = Awaited<ReturnType<typeof startThrowawayCell>>;

function startRun(cell: Cell, workflowId: string) {
  return cell.call('StartWorkflowExecution', {
    namespace: 'default',
    workflowId,
    workflowType: { name: 'waits' },
    taskQueue: { name: 'nobody-polls' },
    requestId: randomUUID(),
  });
}

/** Watches from another database of the server how long ago any backend of that database did anything. */
async function quietSeconds(observerUrl: string, databaseName: string): Promise<number> {
  const store = await openSqlStore({ url: observerUrl, clock: systemClock, log: silentLog });
  const { signal } = new AbortController();
  const giveUpAt = Date.now() + 60_000;
  try {
    for (;;) {
      const [row] = await store.database.query<{ quiet: number | null }>(
        `SELECT extract(epoch FROM clock_timestamp() - max(state_change))::float8 AS quiet
           FROM pg_stat_activity WHERE datname = $1`,
        [databaseName],
        { signal },
      );
      const quiet = row?.quiet ?? 0;
      if (quiet >= QUIET_SECONDS || Date.now() > giveUpAt) return quiet;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  } finally {
    store.close();
  }
}
