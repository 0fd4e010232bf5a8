/**
 * One call on one cell: the request's bytes up, the answer's bytes, headers and trailers down, none of them decoded
 * (D11).
 *
 * Place: made by call.ts, once for a call, and again after a cell that did nothing. It owns the stream to the
 * cell; the client's stream it answers, but call.ts reads.
 *
 * Invariants
 *  1. The client hears nothing before the first byte of a message or the final status is here, so that a refusal can
 *     still be taken elsewhere.
 *  2. It ends exactly once: answered, refused, lost, or dropped by its call. Only `answered` touches the client.
 *  3. Neither side is read faster than the other takes it.
 */
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
  ServerHttp2Stream,
} from 'node:http2';
import {
  EPOCH_HEADER,
  HANDOVER,
  NOT_ACTIVE,
  OWNER_HEADER,
  REFUSED_HEADER,
} from '../fleet/call-headers.ts';
import { AtollError } from '../kernel/errors.ts';
import { statusHeaders } from '../kernel/rpc/status.ts';
import { guard, sendTrailers, stopRequest } from './answer.ts';
import type { Waiter } from './upstreams.ts';

const CANCEL = 8;
const ignore = () => {};
const END_STREAM = 1;

/** Where a refusing cell thinks that the namespace lives. */
export type OwnerHint = { readonly owner: string; readonly epoch: number };

/** Why a cell did nothing. */
export type Refusal =
  /** It is not active for the namespace. */
  | { readonly kind: 'not-active'; readonly hint: OwnerHint }
  /** The namespace is closed there while it moves. */
  | { readonly kind: 'handover' };

export interface AttemptOwner {
  /** The answer has begun: the request need not be kept any more. */
  answering(): void;
  /** The client has its whole answer. */
  answered(): void;
  /** The cell did nothing. */
  refused(refusal: Refusal): void;
  /** The connection ended before an answer began. */
  lost(): void;
}

export type AttemptParts = {
  readonly client: ServerHttp2Stream;
  readonly owner: AttemptOwner;
  readonly session: ClientHttp2Session;
  readonly waiters: Set<Waiter>;
  readonly headers: OutgoingHttpHeaders;
};

export class Attempt implements Waiter {
  readonly #parts: AttemptParts;
  readonly #stream: ClientHttp2Stream;
  #head: IncomingHttpHeaders | undefined;
  #trailers: OutgoingHttpHeaders | undefined;
  #answering = false;
  /** The last chunk of the answer so far: the very last one leaves together with its end, as one write. */
  #held: Buffer | undefined;
  /** The whole request has been sent. */
  #sent = false;
  /** The whole answer is here. */
  #ended = false;
  #over = false;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    const stream = parts.session.request(parts.headers);
    this.#stream = stream;
    parts.waiters.add(this);
    stream.on('response', (headers, flags) => this.#onHead(headers, flags));
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.on('trailers', (trailers) => this.#onTrailers(trailers));
    stream.on('end', () => this.#onEnd());
    stream.on('error', ignore); // `close` follows
    stream.on('close', () => this.#onClose());
  }

  /** Sends more of the request; a slow cell stops the reading of the client until it takes more. */
  write(chunk: Buffer): void {
    if (this.#over || this.#stream.write(chunk)) return;
    const { client } = this.#parts;
    client.pause();
    this.#stream.once('drain', () => client.resume());
  }

  /** Sends the last of the request, if anything is left of it. */
  end(chunk?: Buffer): void {
    if (this.#over) return;
    this.#sent = true;
    if (chunk === undefined) this.#stream.end();
    else this.#stream.end(chunk);
  }

  /** The client is gone: the cell need not go on. */
  drop(): void {
    this.#finish();
  }

  connectionLost(): void {
    this.#onClose();
  }

  #onHead(headers: IncomingHttpHeaders, flags: number): void {
    if (this.#over) return;
    this.#head = headers;
    if ((flags & END_STREAM) === 0) return;
    this.#ended = this.#sent;
    if (this.#wasRefused(headers)) return;
    this.#finish();
    guard(this.#parts.client, () => {
      this.#parts.client.respond(headers, { endStream: true });
      stopRequest(this.#parts.client);
    });
    this.#parts.owner.answered();
  }

  #onData(chunk: Buffer): void {
    if (this.#over) return;
    if (!this.#answering) this.#beginAnswer();
    const { client } = this.#parts;
    const before = this.#held;
    this.#held = chunk;
    if (before === undefined || client.destroyed || client.write(before)) return;
    this.#stream.pause();
    client.once('drain', () => this.#stream.resume());
  }

  #onTrailers(trailers: IncomingHttpHeaders): void {
    if (this.#over || (!this.#answering && this.#wasRefused(trailers))) return;
    this.#trailers = trailers;
    if (this.#ended) this.#complete();
  }

  #onEnd(): void {
    this.#ended = true;
    if (!this.#over && this.#trailers !== undefined) this.#complete();
  }

  /** Before the trailers: the connection broke. What was begun ends with `unavailable`; the rest is call.ts's. */
  #onClose(): void {
    if (this.#over) return;
    if (this.#answering) {
      this.#trailers = statusHeaders(
        new AtollError('unavailable', 'The cell was lost while it answered: try again.'),
      );
      this.#complete();
      return;
    }
    this.#finish();
    this.#parts.owner.lost();
  }

  #beginAnswer(): void {
    const { client, owner } = this.#parts;
    this.#answering = true;
    owner.answering();
    client.on('wantTrailers', () => sendTrailers(client, this.#trailers ?? {}));
    guard(client, () => client.respond(this.#head ?? {}, { waitForTrailers: true }));
  }

  #complete(): void {
    if (!this.#answering) this.#beginAnswer();
    this.#finish();
    const held = this.#held;
    guard(this.#parts.client, () => {
      if (held === undefined) this.#parts.client.end();
      else this.#parts.client.end(held);
    });
    this.#parts.owner.answered();
  }

  #wasRefused(headers: IncomingHttpHeaders): boolean {
    const refusal = refusalIn(headers);
    if (refusal === undefined) return false;
    this.#finish();
    this.#parts.owner.refused(refusal);
    return true;
  }

  #finish(): void {
    this.#over = true;
    this.#parts.waiters.delete(this);
    if (!this.#stream.closed && !this.#ended) this.#stream.close(CANCEL);
  }
}

function refusalIn(headers: IncomingHttpHeaders): Refusal | undefined {
  const why = headers[REFUSED_HEADER];
  if (why === HANDOVER) return { kind: 'handover' };
  if (why !== NOT_ACTIVE) return undefined;
  const epoch = Number(headers[EPOCH_HEADER]);
  const hint = {
    owner: String(headers[OWNER_HEADER] ?? ''),
    epoch: Number.isSafeInteger(epoch) ? epoch : 0,
  };
  return { kind: 'not-active', hint };
}
