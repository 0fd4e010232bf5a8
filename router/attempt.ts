/**
 * One call on one cell: the request's bytes up, the answer's bytes and trailers down, none of them decoded (D11).
 *
 * Place: made by call.ts, once for a call, and again after a cell that did nothing. call.ts answers the client.
 *
 * Invariants
 *  1. It ends exactly once: answered, refused, lost, or dropped by its call.
 */
import {
  EPOCH_HEADER,
  HANDOVER,
  NOT_ACTIVE,
  OWNER_HEADER,
  REFUSED_HEADER,
} from '../fleet/call-headers.ts';
import type { Link, LinkWaiter } from '../kernel/link/link.ts';

/** Where a refusing cell thinks that the namespace lives. */
export type OwnerHint = { readonly owner: string; readonly epoch: number };

/** Why a cell did nothing. */
export type Refusal =
  /** It is not active for the namespace. */
  | { readonly kind: 'not-active'; readonly hint: OwnerHint }
  /** The namespace is closed there while it moves. */
  | { readonly kind: 'handover' };

/** gRPC's trailers; the answer of a call that failed has no message. */
export type Trailers = Readonly<Record<string, string>>;

export interface AttemptOwner {
  /** The whole answer: its message in its frame, or nothing, and its trailers. */
  answered(trailers: Trailers, message: Buffer): void;
  /** The cell did nothing. */
  refused(refusal: Refusal): void;
  /** The connection ended before an answer came. */
  lost(): void;
}

export class Attempt implements LinkWaiter {
  readonly #link: Link;
  readonly #owner: AttemptOwner;
  readonly #call: number;
  #over = false;

  /**
   * Sends the request.
   * @throws AtollError `unavailable` when the connection takes nothing, and nothing was sent
   */
  constructor(
    link: Link,
    request: { readonly head: string; readonly body: readonly Uint8Array[] },
    owner: AttemptOwner,
  ) {
    this.#link = link;
    this.#owner = owner;
    this.#call = link.call(request.head, request.body, this);
  }

  /** The client is gone: the cell need not go on. */
  drop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#link.cancel(this.#call);
  }

  answered(trailers: Trailers, message: Buffer): void {
    this.#over = true;
    const refusal = refusalIn(trailers);
    if (refusal === undefined) this.#owner.answered(trailers, message);
    else this.#owner.refused(refusal);
  }

  lost(): void {
    this.#over = true;
    this.#owner.lost();
  }
}

function refusalIn(trailers: Trailers): Refusal | undefined {
  const why = trailers[REFUSED_HEADER];
  if (why === HANDOVER) return { kind: 'handover' };
  if (why !== NOT_ACTIVE) return undefined;
  const epoch = Number(trailers[EPOCH_HEADER]);
  const hint = {
    owner: trailers[OWNER_HEADER] ?? '',
    epoch: Number.isSafeInteger(epoch) ? epoch : 0,
  };
  return { kind: 'not-active', hint };
}
