/**
 * The nodes of a YugabyteDB cluster, and which of them the next connection goes to.
 *
 * Place: the `Server` of YugabyteDB's kind. The URL names one node, or a name that leads to any; `yb_servers()` of the
 * node that answered names all.
 *
 * Invariants
 *  1. The node with the fewest connections of ours is tried first; one that failed lately after the URL's own.
 *  2. An attempt to connect tries at most `MAX_TRIED` nodes, so that it ends (P11).
 *  3. A server without `yb_servers()` is refused: its loss of a node could lose what it acknowledged.
 */
import type pg from 'pg';
import type { Clock } from '../../../../kernel/clock.ts';
import { AtollError } from '../../../../kernel/errors.ts';
import { codeOf } from '../connection-errors.ts';
import type { Node, Server } from '../server.ts';
import { newYugabyteClient } from './driver.ts';

const MAX_TRIED = 3;
const LISTED_FOR_MS = 60_000;
const AVOIDED_FOR_MS = 30_000;
const UNDEFINED_FUNCTION = '42883';

const SERVERS = `SELECT host, port::int4 AS port, public_ip FROM yb_servers() WHERE node_type = 'primary'`;

type Listed = Node & { readonly public_ip: string | null };

export class YugabyteCluster implements Server {
  readonly product = 'YugabyteDB';
  readonly oneServerASession = false;
  readonly #clock: Clock;
  #known: readonly Node[] = [];
  #listedAt: number | undefined;
  #turn = 0;
  /** By node; only of nodes that are known or connected. */
  readonly #connections = new Map<string, number>();
  readonly #failedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nodes(): readonly (Node | undefined)[] {
    // Connections that are made at the same time count equal: each begins at another node.
    this.#turn += 1;
    const count = this.#known.length;
    const turned = this.#known.map((_, index) => this.#known[(index + this.#turn) % count]);
    const ordered = turned
      .flatMap((node) => (node ? [node] : []))
      .toSorted((a, b) => this.#used(a) - this.#used(b));
    const well = ordered.filter((node) => !this.#avoids(node));
    const tried = [...well.slice(0, MAX_TRIED - 1), undefined];
    return [...tried, ...ordered.filter((node) => this.#avoids(node))].slice(0, MAX_TRIED);
  }

  newClient(config: pg.ClientConfig): pg.Client {
    return newYugabyteClient(config);
  }

  async joined(client: pg.Client, node: Node | undefined): Promise<void> {
    const now = this.#clock.monotonicMs();
    if (this.#listedAt === undefined || now - this.#listedAt >= LISTED_FOR_MS) {
      await this.#list(client);
      this.#listedAt = now;
    }
    const key = keyOf(node ?? client);
    this.#failedAt.delete(key);
    this.#connections.set(key, (this.#connections.get(key) ?? 0) + 1);
    client.once('end', () => {
      const left = (this.#connections.get(key) ?? 1) - 1;
      if (left > 0) this.#connections.set(key, left);
      else this.#connections.delete(key);
    });
  }

  failed(node: Node | undefined): void {
    if (node) this.#failedAt.set(keyOf(node), this.#clock.monotonicMs());
  }

  async #list(client: pg.Client): Promise<void> {
    const { rows } = await client.query<Listed>(SERVERS).catch((cause: unknown) => {
      throw codeOf(cause) === UNDEFINED_FUNCTION ? notYugabyte(client, cause) : cause;
    });
    // Nodes that were asked for by their public address are reached by that alone.
    const outside = rows.some((row) => row.public_ip === client.host);
    this.#known = rows.map(({ host, port, public_ip }) => ({
      host: outside ? (public_ip ?? host) : host,
      port,
    }));
    const keys = new Set(this.#known.map(keyOf));
    for (const key of this.#failedAt.keys()) if (!keys.has(key)) this.#failedAt.delete(key);
  }

  #used(node: Node): number {
    return this.#connections.get(keyOf(node)) ?? 0;
  }

  #avoids(node: Node): boolean {
    const failedAt = this.#failedAt.get(keyOf(node));
    return failedAt !== undefined && this.#clock.monotonicMs() - failedAt < AVOIDED_FOR_MS;
  }
}

function keyOf({ host, port }: Node): string {
  return `${host}:${port}`;
}

function notYugabyte({ host, port }: Node, cause: unknown): AtollError {
  return new AtollError(
    'failed-precondition',
    `the server at ${host}:${port} has no yb_servers(), so it is not YugabyteDB: give a postgres:// URL for PostgreSQL`,
    { cause },
  );
}
