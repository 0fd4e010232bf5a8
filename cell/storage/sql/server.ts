/**
 * How connections to a kind of server are made.
 *
 * Place: `connection.ts` connects with it. PostgreSQL's is in `server-kind.ts`, YugabyteDB's in `yugabyte/cluster.ts`.
 */
import type pg from 'pg';

/** Where a client may connect instead of the URL's own host and port. */
export type Node = { readonly host: string; readonly port: number };

export type Server = {
  readonly product: 'PostgreSQL' | 'YugabyteDB';
  /**
   * True: all connections of a session must lead to one life of one server, because another one may lack what was
   * acknowledged. False: the nodes are one database, and any of them answers for all.
   */
  readonly oneServerASession: boolean;
  /** Where to try, in this order; `undefined` is what the URL says. */
  nodes(): readonly (Node | undefined)[];
  /** A client of this kind's driver that has not connected yet. */
  newClient(config: pg.ClientConfig): pg.Client;
  /** The client has connected to this node. A rejection gives the connection up. */
  joined(client: pg.Client, node: Node | undefined): Promise<void>;
  /** The node could not be reached. */
  failed(node: Node | undefined): void;
};
