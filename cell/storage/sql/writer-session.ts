/**
 * The connections that append, and the session that they are (promise 4 of the log's port).
 *
 * Place: appends go to one of two writers by the shard's parity, so that statements stay large; a statement that
 * finds its writer busy is one that is being settled alone, and takes a spare one, so that a blocked key holds up
 * only its shard (PROTOCOLS 1). Read barriers have a connection of their own and never wait for an append.
 *
 * Invariants
 *  1. All connections of a session lead to one life of one primary, or to nodes of one database that loses nothing.
 *     Once one of them is lost, all are given up.
 *  2. The session id grows with each session; an append never goes to another session than the one it names.
 *  3. One attempt at a time makes a session; callers wait for it no longer than their signal allows.
 */
import { AtollError } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import type { SessionId } from '../shard-log.ts';
import { SqlConnection, type ConnectionOptions, type Statement } from './connection.ts';
import { withSignal } from './with-signal.ts';

const MAX_WAITING = 1_024;

export type WriterSession = {
  readonly id: SessionId;
  readonly writers: readonly [SqlConnection, SqlConnection];
  readonly barrier: SqlConnection;
  readonly spares: SqlConnection[];
  /** Spare connections that are being made. */
  opening: number;
  /** Statements that found no connection free, in order. */
  readonly waiting: Waiter[];
};

type Waiter = {
  readonly start: (connection: SqlConnection) => void;
  readonly reject: (error: AtollError) => void;
};

export type WriterOptions = ConnectionOptions & {
  /** Connections at most that a session has besides its two writers and the barrier. */
  readonly spares: number;
};

export class WriterSessions {
  readonly #options: WriterOptions;
  readonly #log: Log;
  #current: WriterSession | undefined;
  #opening: Promise<WriterSession> | undefined;
  #lastId = 0;
  #closed = false;

  constructor(options: WriterOptions, log: Log) {
    this.#options = options;
    this.#log = log;
  }

  /** The live session, if it is this one. */
  named(id: SessionId): WriterSession | undefined {
    return this.#current?.id === id ? this.#current : undefined;
  }

  /** The live session, made anew if there is none. */
  async live(signal: AbortSignal): Promise<WriterSession> {
    if (this.#current) return this.#current;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return withSignal(this.#opening, signal);
  }

  /**
   * Runs a statement on shards of this parity: on their writer if that is free, else on a spare connection, else on
   * whichever is free first. So a statement that waits for a blocked key keeps one connection and no other statement.
   */
  run<Row>(
    session: WriterSession,
    parity: number,
    { statement, signal }: { readonly statement: Statement; readonly signal: AbortSignal },
  ): Promise<readonly Row[]> {
    const ran = new Promise<readonly Row[]>((resolve, reject) => {
      const start = (connection: SqlConnection) =>
        void connection.run<Row>(statement, signal).then(resolve, reject);
      const writer = session.writers[parity === 0 ? 0 : 1];
      const free = [writer, ...session.spares].find(({ load }) => load === 0);
      if (free) start(free);
      else if (session.spares.length + session.opening < this.#options.spares) {
        this.#addSpare(session).then(start, reject);
      } else if (session.waiting.length < MAX_WAITING) session.waiting.push({ start, reject });
      else reject(new AtollError('resource-exhausted', `${MAX_WAITING} appends already wait`));
    });
    return withSignal(ran, signal);
  }

  /** Gives all connections up. */
  close(): void {
    this.#closed = true;
    if (this.#current) this.#end(this.#current);
  }

  async #open(): Promise<WriterSession> {
    const opened = await Promise.allSettled([this.#connect(), this.#connect(), this.#connect()]);
    const [first, second, barrier] = opened.flatMap((each) =>
      each.status === 'fulfilled' ? [each.value] : [],
    );
    const identities = new Set([first, second, barrier].map((each) => each?.facts.identity));
    if (!first || !second || !barrier || identities.size > 1 || this.#closed) {
      for (const connection of [first, second, barrier]) connection?.close();
      const failure = opened.find((each) => each.status === 'rejected');
      throw (
        failure?.reason ??
        new AtollError('unavailable', 'the database changed its primary: try again')
      );
    }
    this.#lastId += 1;
    const session: WriterSession = {
      // Ids are ours alone and only grow; the brand says where a number may be used.
      id: this.#lastId as SessionId,
      writers: [first, second],
      barrier,
      spares: [],
      opening: 0,
      waiting: [],
    };
    for (const writer of session.writers) {
      writer.onIdle(() => session.waiting.shift()?.start(writer));
    }
    this.#current = session;
    for (const connection of [first, second, barrier]) {
      connection.onLost(() => this.#end(session));
    }
    return session;
  }

  async #addSpare(session: WriterSession): Promise<SqlConnection> {
    session.opening += 1;
    const spare = await this.#connect().finally(() => {
      session.opening -= 1;
    });
    if (this.#current !== session || spare.facts.identity !== session.barrier.facts.identity) {
      spare.close();
      this.#end(session);
      throw new AtollError('unavailable', 'the database changed its primary: try again');
    }
    session.spares.push(spare);
    spare.onIdle(() => session.waiting.shift()?.start(spare));
    spare.onLost(() => this.#end(session));
    return spare;
  }

  async #connect(): Promise<SqlConnection> {
    const connection = await SqlConnection.open(this.#options);
    if (!connection.facts.standby) return connection;
    connection.close();
    const { product, host, port } = connection.endpoint;
    throw new AtollError(
      'unavailable',
      `${product} at ${host}:${port} is a standby: the database URL must lead to the primary`,
    );
  }

  #end(session: WriterSession): void {
    if (this.#current !== session) return;
    this.#current = undefined;
    const ended = new AtollError('unavailable', 'the session with the database ended');
    for (const { reject } of session.waiting.splice(0)) reject(ended);
    if (!this.#closed) {
      this.#log.warn({ session: session.id }, 'lost the database; appends wait for a new session');
    }
    for (const each of [...session.writers, session.barrier, ...session.spares]) each.close();
  }
}
