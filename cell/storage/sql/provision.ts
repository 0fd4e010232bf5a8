/**
 * Makes a cell's shards, once. Their number is fixed for the life of a cell (D2): another one would send a workflow id
 * to another shard.
 */
import { AtollError } from '../../../kernel/errors.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { Runner } from './ownership.ts';

/** Inserts the shard rows of an empty database; refuses a database that has another number of shards. */
export async function provision(
  runner: Runner,
  shardCount: number,
  signal: AbortSignal,
): Promise<void> {
  invariant(Number.isSafeInteger(shardCount) && shardCount >= 1, `${shardCount} shards`);
  const count = async () => {
    const rows = await runner.run<{ readonly shards: number }>(
      { text: 'SELECT count(*) AS shards FROM shard', values: [] },
      signal,
    );
    return rows[0]?.shards ?? 0;
  };
  if ((await count()) === 0) {
    // One statement, so all or none; of two processes at once, the one that asked for fewer is refused below.
    await runner.run(
      {
        text: 'INSERT INTO shard (shard_id) SELECT generate_series(0, $1::int4 - 1) ON CONFLICT DO NOTHING',
        values: [shardCount],
      },
      signal,
    );
  }
  const present = await count();
  if (present === shardCount) return;
  throw new AtollError(
    'failed-precondition',
    `this database holds ${present} shards, but the cell is configured for ${shardCount}: the number of shards is ` +
      `fixed when a cell is created; set it to ${present}, or use another database`,
  );
}

/** No cell has ever started here; also where there is no schema yet. */
export async function hasNoShards(runner: Runner, signal: AbortSignal): Promise<boolean> {
  const one = (text: string) =>
    runner.run<{ readonly found: string | null }>({ text, values: [] }, signal);
  const [table] = await one(`SELECT to_regclass('shard')::text AS found`);
  if (table === undefined || table.found === null) return true;
  return (await one('SELECT shard_id::text AS found FROM shard LIMIT 1')).length === 0;
}
