/** Connections of tests that act beside the store: other people's transactions, faults, looks at rows. */
import pg from 'pg';

export type RawConnection = {
  run<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<readonly Row[]>;
  close(): Promise<void>;
};

export async function openRaw(url: string): Promise<RawConnection> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return {
    async run<Row>(text: string, values: readonly unknown[] = []) {
      const result = await client.query(text, [...values]);
      return result.rows as readonly Row[];
    },
    close: () => client.end(),
  };
}

/** Runs one statement on a connection of its own. */
export async function runSql<Row = Record<string, unknown>>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const connection = await openRaw(url);
  try {
    return await connection.run<Row>(text, values);
  } finally {
    await connection.close();
  }
}
