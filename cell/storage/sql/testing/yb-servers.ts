/**
 * The stand-in that lets the adapter for YugabyteDB run on PostgreSQL: a function `yb_servers()` with the columns of
 * YugabyteDB's. What YugabyteDB does with a statement it cannot show.
 */
import { runSql } from './raw-connection.ts';

export type StandInNode = {
  readonly host: string;
  readonly port: number;
  readonly nodeType?: 'primary' | 'read_replica';
  readonly publicIp?: string;
};

/** Makes the database list these nodes. */
export async function standInForYugabyte(
  url: string,
  nodes: readonly StandInNode[],
): Promise<void> {
  const rows = nodes.map(
    ({ host, port, nodeType = 'primary', publicIp = '' }) =>
      `('${host}', ${port}::int8, 0::int8, '${nodeType}', 'cloud', 'region', 'zone', '${publicIp}')`,
  );
  await runSql(url, 'DROP FUNCTION IF EXISTS yb_servers()');
  await runSql(
    url,
    `CREATE FUNCTION yb_servers() RETURNS TABLE (host text, port int8, num_connections int8, node_type text,
       cloud text, region text, zone text, public_ip text)
     LANGUAGE sql AS $$ SELECT * FROM (VALUES ${rows.join(', ')}) AS node $$`,
  );
}

/** The URL with YugabyteDB's scheme. */
export function asYugabyte(url: string): string {
  return url.replace(/^postgres(ql)?:/, 'yugabytedb:');
}

/** Host and port of a URL. */
export function nodeOf(url: string): StandInNode {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
