/**
 * One stream of gRPC reflection: questions come one after another, and each is answered in its turn.
 *
 * Place: made by router.ts in place of a Call; reflection.ts knows the answers.
 *
 * Invariants
 *  1. At most `MAX_QUESTION_BYTES` of questions wait; the client is not read while one is answered (P11).
 *  2. It ends with the client's end, with the first question that is none, or with the router.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { sleep, type Clock } from '../kernel/clock.ts';
import { AtollError, toAtollError } from '../kernel/errors.ts';
import { encodingOf, frame, FRAME_HEADER_BYTES, unframe } from '../kernel/rpc/frame.ts';
import { statusHeaders } from '../kernel/rpc/status.ts';
import type { ReflectionService } from '../wire/reflection.ts';
import { answerError, guard, sendTrailers } from './answer.ts';
import { reflect } from './reflection.ts';

/** A question is a name. */
const MAX_QUESTION_BYTES = 64 * 1024;
const HEAD = { ':status': 200, 'content-type': 'application/grpc' } as const;

export type ReflectionContext = {
  /** The streams whose client is still there. */
  readonly calls: Set<{ routerCloses(): void }>;
  readonly clock: Clock;
};

export class ReflectionCall {
  readonly #client: ServerHttp2Stream;
  readonly #service: ReflectionService;
  readonly #encoding: 'identity' | 'gzip' | undefined;
  /** Lets other calls go first. */
  readonly #turn: () => Promise<void>;
  #received: Buffer = Buffer.alloc(0);
  #ended = false;
  #over = false;

  constructor(
    client: ServerHttp2Stream,
    of: { readonly service: ReflectionService; readonly headers: IncomingHttpHeaders },
    { calls, clock }: ReflectionContext,
  ) {
    this.#turn = () => sleep(clock, 0);
    this.#client = client;
    this.#service = of.service;
    this.#encoding = encodingOf(of.headers['grpc-encoding'] as string | undefined);
    calls.add(this);
    client.on('error', () => {}); // `close` follows
    client.on('close', () => {
      this.#over = true;
      calls.delete(this);
    });
    client.on('data', (chunk: Buffer) => void this.#onData(chunk));
    client.on('end', () => {
      this.#ended = true;
      // While a question is answered, its answer goes first.
      if (!client.isPaused()) this.#clientEnded();
    });
  }

  routerCloses(): void {
    this.#end(
      new AtollError(
        'unavailable',
        'This router is shutting down: call again to reach another one.',
      ),
    );
  }

  async #onData(chunk: Buffer): Promise<void> {
    if (this.#over) return;
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    this.#client.pause();
    try {
      for (let next = this.#take(); next !== undefined; next = this.#take()) {
        const answer = await reflect(this.#service, next, this.#turn);
        if (this.#over) return;
        this.#answer(answer);
        await this.#drained();
      }
      if (this.#ended) this.#clientEnded();
      this.#client.resume();
    } catch (thrown) {
      this.#end(toAtollError(thrown));
    }
  }

  /** The next whole question, without its frame. */
  #take(): Uint8Array | undefined {
    const bytes = this.#received;
    if (bytes.length < FRAME_HEADER_BYTES) return undefined;
    if (this.#encoding === undefined)
      throw new AtollError('unimplemented', 'Use grpc-encoding identity or gzip.');
    const end = FRAME_HEADER_BYTES + bytes.readUInt32BE(1);
    if (end > MAX_QUESTION_BYTES) {
      const message = `A question of reflection is at most ${MAX_QUESTION_BYTES} bytes long.`;
      throw new AtollError('resource-exhausted', message);
    }
    if (bytes.length < end) return undefined;
    this.#received = bytes.subarray(end);
    return unframe([bytes.subarray(0, end)], this.#encoding, MAX_QUESTION_BYTES);
  }

  #answer(message: Uint8Array): void {
    guard(this.#client, () => {
      if (!this.#client.headersSent) this.#client.respond(HEAD, { waitForTrailers: true });
      for (const chunk of frame(message)) this.#client.write(chunk);
    });
  }

  async #drained(): Promise<void> {
    while (this.#client.writableNeedDrain && !this.#over) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#client.off('drain', wake).off('close', wake);
          resolve();
        };
        this.#client.on('drain', wake).on('close', wake);
      });
    }
  }

  #clientEnded(): void {
    const cut = 'The stream ends within a question.';
    this.#end(this.#received.length === 0 ? undefined : new AtollError('invalid-argument', cut));
  }

  #end(error: AtollError | undefined): void {
    if (this.#over) return;
    this.#over = true;
    const client = this.#client;
    if (error !== undefined && !client.headersSent) return answerError(client, error);
    guard(client, () => {
      const trailers = error === undefined ? { 'grpc-status': '0' } : statusHeaders(error);
      if (!client.headersSent) client.respond(HEAD, { waitForTrailers: true });
      client.once('wantTrailers', () => sendTrailers(client, trailers));
      client.end();
      client.resume(); // What still comes is not looked at: a reset might overtake the trailers.
    });
  }
}
