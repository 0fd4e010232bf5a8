/** What `atoll doctor` looks at of a cell's database: version, durability, shards, and its clock against ours. */
import type { CellIdentity } from '../cell/storage/sql/cell-identity.ts';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { openDatabaseOf } from './cell-storage.ts';
import type { Finding } from './doctor-finding.ts';

const STATEMENT_MS = 5_000;
/** Above this, moves between cells are blocked (D16). */
const MAX_SKEW_MS = 1_000;

type Row = {
  readonly version: string;
  readonly fsync: string;
  readonly commit: string;
  readonly pages: string;
  readonly shards: string | null;
  readonly now: number;
};

export async function checkDatabase(url: string): Promise<readonly Finding[]> {
  const what = 'database';
  if (url === '') return [{ what, state: 'skipped', says: 'give --postgres-url to look at one' }];
  const store = await openDatabaseOf(url, { clock: systemClock, log: silentLog });
  try {
    const begun = systemClock.now();
    const signal = AbortSignal.timeout(STATEMENT_MS);
    const [row] = await store.database.query<Row>(LOOK, [], { signal });
    const ended = systemClock.now();
    if (row === undefined) return [{ what, state: 'wrong', says: 'it answers nothing' }];
    return [
      { what, state: 'fine', says: `PostgreSQL ${row.version}` },
      durability(row),
      cellOf(await store.identity(signal)),
      await shardsOf(row, (text) => store.database.query<{ count: number }>(text, [], { signal })),
      skew(row.now - (begun + ended) / 2),
    ];
  } finally {
    store.close();
  }
}

const LOOK = `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
  current_setting('synchronous_commit') AS commit, current_setting('full_page_writes') AS pages,
  to_regclass('shard')::text AS shards,
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;

function durability({ fsync, commit, pages }: Row): Finding {
  const what = 'durability of the database';
  const off = [
    ...(fsync === 'on' ? [] : ['fsync']),
    ...(commit === 'off' ? ['synchronous_commit'] : []),
    ...(pages === 'on' ? [] : ['full_page_writes']),
  ];
  if (off.length === 0) return { what, state: 'fine', says: 'what it acknowledges is on the disk' };
  const says = `${off.join(', ')} off: a crash loses what was acknowledged; turn it on`;
  return { what, state: 'wrong', says };
}

function cellOf(found: CellIdentity | undefined): Finding {
  const what = 'cell of the database';
  if (found === undefined) return { what, state: 'skipped', says: 'said at the first start' };
  return { what, state: 'fine', says: `${found.cellId}, by id ${found.databaseId}` };
}

async function shardsOf(
  row: Row,
  query: (text: string) => Promise<readonly { readonly count: number }[]>,
): Promise<Finding> {
  const what = 'shards of the database';
  if (row.shards === null) return { what, state: 'skipped', says: 'made at the first start' };
  const [counted] = await query('SELECT count(*)::int AS count FROM shard');
  return { what, state: 'fine', says: `${counted?.count ?? 0}` };
}

function skew(ms: number): Finding {
  const what = 'clock of the database';
  const rounded = Math.round(ms);
  if (Math.abs(ms) <= MAX_SKEW_MS) return { what, state: 'fine', says: `${rounded} ms from ours` };
  const says = `${rounded} ms from ours: let both machines follow a time server`;
  return { what, state: 'wrong', says };
}
