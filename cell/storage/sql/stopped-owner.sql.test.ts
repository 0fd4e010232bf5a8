import { expect, test } from 'vitest';
import { systemClock } from '../../../kernel/clock.ts';
import { silentLog } from '../../../kernel/log.ts';
import { never, shard } from '../conformance/samples.ts';
import { openSqlStore } from './sql-store.ts';
import { startProcess } from './testing/child-process.ts';
import { runSql } from './testing/raw-connection.ts';
import { useTestServer } from './testing/test-database.ts';

const OWNER = new URL('./testing/checkpointing-owner.ts', import.meta.url);
const server = useTestServer();

// The statement of a stopped client may run to its end; then it holds nothing. A transaction that waited for its client
// would hold the shard's row for the 2 s of idle_in_transaction_session_timeout at least.
const TAKEOVER_MS = 1_900;

test('an owner that is stopped in a checkpoint does not delay a takeover, and its checkpoint is whole or absent', async () => {
  for (let round = 0; round < 4; round += 1) {
    const url = await server.emptiedDatabase();
    const store = await openSqlStore({ url, clock: systemClock, log: silentLog });
    const owner = startProcess(OWNER, [url]);
    const base = (await store.log.position(shard(0), never)).checkpoint;
    expect(base).toBe(0);
    await owner.line();
    await owner.line();
    owner.child.kill('SIGSTOP');
    const started = performance.now();
    await store.log.claim(shard(0), never);
    const { checkpoint } = await store.log.position(shard(0), never);
    expect(performance.now() - started).toBeLessThan(TAKEOVER_MS);
    owner.child.kill('SIGCONT');
    await owner.kill();
    const [seen] = await runSql<{ rows: string; newest: string }>(
      url,
      'SELECT count(*) AS rows, coalesce(max(seq), 0) AS newest FROM run WHERE shard_id = 0',
    );
    expect(seen).toEqual({ rows: String(checkpoint * 2_000), newest: String(checkpoint) });
    store.close();
  }
}, 120_000);
