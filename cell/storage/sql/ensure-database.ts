/** Creates the cell's database on a server that does not have it yet, if the user may. */
import { AtollError } from '../../../kernel/errors.ts';
import { causeCodeOf } from './connection-errors.ts';
import { SqlConnection, type ConnectionOptions } from './connection.ts';

const MAINTENANCE_DATABASE = 'postgres';
/** Another process has created it meanwhile. */
const ALREADY_THERE = new Set(['42P04', '23505']);
const NOT_ALLOWED = '42501';

/** A first connection to the database of the URL, which is created if it does not exist. */
export async function openDatabase(options: ConnectionOptions): Promise<SqlConnection> {
  try {
    return await SqlConnection.open(options);
  } catch (error) {
    if (!(error instanceof AtollError && error.code === 'not-found')) throw error;
    await create(options, error);
    return SqlConnection.open(options);
  }
}

async function create(options: ConnectionOptions, missing: AtollError): Promise<void> {
  const url = new URL(options.url);
  const name = decodeURIComponent(url.pathname.slice(1));
  url.pathname = `/${MAINTENANCE_DATABASE}`;
  const connection = await SqlConnection.open({ ...options, url: url.href });
  const quoted = `"${name.replaceAll('"', '""')}"`;
  try {
    await connection.run(
      { text: `CREATE DATABASE ${quoted} TEMPLATE template0 ENCODING 'UTF8'`, values: [] },
      // The connection has a deadline of its own.
      new AbortController().signal,
    );
  } catch (error) {
    const code = causeCodeOf(error) ?? '';
    if (ALREADY_THERE.has(code)) return;
    if (code !== NOT_ALLOWED) throw error;
    throw new AtollError(
      'permission-denied',
      `${missing.message} (user "${connection.endpoint.user}" may not create it)`,
      { cause: error },
    );
  } finally {
    connection.close();
  }
}
