/**
 * A few connections for statements that need no order among themselves: reads of views, takeovers, visibility.
 *
 * Invariants
 *  1. At most `size` connections; made when first needed, and again after they were lost.
 *  2. A statement goes to the connection with the least to do.
 */
import { SqlConnection, type ConnectionOptions, type Statement } from './connection.ts';
import { withSignal } from './with-signal.ts';
import type { Database, QueryOptions, SqlValue } from './database.ts';

type Slot = { connection: SqlConnection | undefined; opening: Promise<SqlConnection> | undefined };

export class ConnectionPool implements Database {
  readonly #options: ConnectionOptions;
  readonly #slots: readonly Slot[];
  #closed = false;

  constructor(options: ConnectionOptions, size: number) {
    this.#options = options;
    this.#slots = Array.from({ length: size }, () => ({
      connection: undefined,
      opening: undefined,
    }));
  }

  query<Row>(
    text: string,
    values: readonly SqlValue[],
    options: QueryOptions,
  ): Promise<readonly Row[]> {
    return this.run<Row>({ text, values, name: options.name }, options.signal);
  }

  async run<Row>(statement: Statement, signal: AbortSignal): Promise<readonly Row[]> {
    const connection = this.#idle() ?? (await withSignal(this.#least(), signal));
    return connection.run<Row>(statement, signal);
  }

  /** Gives all connections up; statements that run are not waited for. */
  close(): void {
    this.#closed = true;
    for (const slot of this.#slots) slot.connection?.close();
  }

  #idle(): SqlConnection | undefined {
    return this.#slots.find(({ connection }) => connection?.lost === false && connection.load === 0)
      ?.connection;
  }

  /** Opens a free slot; with none free, the connection with the shortest queue. */
  #least(): Promise<SqlConnection> {
    const free = this.#slots.find(
      ({ connection, opening }) => !opening && connection?.lost !== false,
    );
    if (free) return this.#open(free);
    const [least] = this.#slots
      .flatMap(({ connection }) => (connection?.lost === false ? [connection] : []))
      .sort((a, b) => a.load - b.load);
    if (least) return Promise.resolve(least);
    const opening = this.#slots.find((slot) => slot.opening !== undefined)?.opening;
    return opening ?? Promise.reject(new Error('a connection pool without slots'));
  }

  #open(slot: Slot): Promise<SqlConnection> {
    const opening = SqlConnection.open(this.#options)
      .then((connection) => {
        if (this.#closed) connection.close();
        slot.connection = connection;
        return connection;
      })
      .finally(() => {
        slot.opening = undefined;
      });
    slot.opening = opening;
    return opening;
  }
}
