/**
 * A few links to one address, used in turn: a large answer on one holds up nobody on the others.
 * Place: under the router's upstreams.
 *
 * Invariants
 *  1. At most `links` connections; one is made when its turn comes and it is missing or going away.
 *  2. After `close` none is made. Until then its connections keep the process alive.
 */
import { AtollError } from '../errors.ts';
import { invariant } from '../invariant.ts';
import { Link, type LinkOptions } from './link.ts';

export type LinkPoolOptions = Omit<LinkOptions, 'onSpoken' | 'onLeaving' | 'onClosed'> & {
  /** Connections at most. */
  readonly links: number;
  /** A connection is being made. The watch hears once that the other side has spoken, and once that it is gone. */
  readonly watch: () => LinkWatch;
};

export interface LinkWatch {
  spoken(): void;
  closed(error: Error | undefined): void;
}

/** With more than this unsent, a link is passed over for one with less. */
const BUSY_BYTES = 64 * 1024;

export class LinkPool {
  /** `host:port`. */
  readonly address: string;
  readonly #options: LinkPoolOptions;
  readonly #slots: (Link | undefined)[];
  readonly #live = new Set<Link>();
  #turn = 0;
  #closed = false;

  constructor(address: string, options: LinkPoolOptions) {
    const { links } = options;
    invariant(Number.isSafeInteger(links) && links >= 1, `link pool of ${links}`);
    this.address = address;
    this.#options = options;
    this.#slots = new Array<Link | undefined>(links).fill(undefined);
  }

  /**
   * The link whose turn it is. It may still be connecting: calls on it wait for that, and are lost with it.
   * @throws AtollError `unavailable` after `close`
   */
  next(): Link {
    if (this.#closed)
      throw new AtollError('unavailable', `the connections to ${this.address} are closed`);
    this.#turn = (this.#turn + 1) % this.#slots.length;
    const link = this.#slots[this.#turn] ?? this.#connect(this.#turn);
    return link.queuedBytes < BUSY_BYTES ? link : this.#leastBusy(link);
  }

  /** Ends all connections; open calls are lost. */
  close(): void {
    this.#closed = true;
    for (const link of this.#live) link.close();
  }

  #leastBusy(link: Link): Link {
    let least = link;
    for (const other of this.#slots)
      if (other !== undefined && other.queuedBytes < least.queuedBytes) least = other;
    return least;
  }

  #connect(slot: number): Link {
    const watch = this.#options.watch();
    const leave = () => {
      if (this.#slots[slot] === link) this.#slots[slot] = undefined;
    };
    const link: Link = new Link(this.address, {
      ...this.#options,
      onSpoken: () => watch.spoken(),
      onLeaving: leave,
      onClosed: (error) => {
        this.#live.delete(link);
        leave();
        watch.closed(error);
      },
    });
    this.#slots[slot] = link;
    this.#live.add(link);
    return link;
  }
}
