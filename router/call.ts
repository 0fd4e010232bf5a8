/**
 * One call of a client, from its first header to its last: which namespace, which cell, and again on the owner if that
 * cell did nothing (D8, D11).
 *
 * Place: made by router.ts for every gRPC stream. It reads the client's stream; attempt.ts carries the bytes, holds.ts
 * keeps the call while its namespace moves.
 *
 * Invariants
 *  1. A call is tried again only after a cell said that it did nothing (P4): once after a cell that was not active, and
 *     after at most `maxHandoverRefusals` that were closed for a move. NamespaceNotActive never reaches the client.
 *  2. A request is at most `maxRequestBytes` long, and kept until its answer is here; all calls together hold at most
 *     `bytesOfCalls`.
 *  3. It has no timer of its own: the client's deadline travels to the cell, a dead connection fails its calls at once,
 *     and a hold ends with its deadline.
 *  4. The client hears nothing before its whole answer is here, so that a refusal can still be taken elsewhere.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Namespace } from '../fleet/map.ts';
import type { Credentials } from '../fleet/rights.ts';
import { AtollError, toAtollError } from '../kernel/errors.ts';
import { encodingOf, FRAME_HEADER_BYTES, tooLarge, unframe } from '../kernel/rpc/frame.ts';
import { peerOf } from '../kernel/rpc/peer.ts';
import { parseTimeout } from '../kernel/rpc/timeout.ts';
import { namespaceNotFound } from '../wire/failures.ts';
import { answerAsCell, answerError, answerMessage } from './answer.ts';
import {
  Attempt,
  type AttemptOwner,
  type OwnerHint,
  type Refusal,
  type Trailers,
} from './attempt.ts';
import { gzipRefused, isGzipProbe } from './gzip-probe.ts';
import type { Holds } from './holds.ts';
import type { LocalCall } from './local-calls.ts';
import { notServed, type Route } from './methods.ts';
import type { RouterParts } from './parts.ts';
import type { MemoryBudget } from './memory-budget.ts';
import { resolveBody, resolveName, type Resolved } from './resolve.ts';
import type { NamespaceLimits } from './namespace-limits.ts';
import { upstreamHead } from './upstream-headers.ts';
import type { Upstreams } from './upstreams.ts';

/** What every call of a router shares. */
export type CallContext = RouterParts & {
  readonly routes: ReadonlyMap<string, Route>;
  readonly locals: ReadonlyMap<string, LocalCall>;
  readonly upstreams: Upstreams;
  readonly limits: NamespaceLimits;
  readonly holds: Holds;
  readonly memory: MemoryBudget;
  /** The calls whose client is still there. */
  readonly calls: Set<{ routerCloses(): void }>;
};

/** Where an attempt goes. */
type Target = { readonly cell: string; readonly epoch: number };

export class Call implements AttemptOwner {
  readonly #client: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #context: CallContext;
  readonly #path: string;
  readonly #startMs: number;
  /** Its place among the calls of this router. */
  readonly #arrival: number;
  /** The request as it comes. */
  #chunks: Buffer[] = [];
  #received = 0;
  /** The largest message. */
  #maxBytes: number;
  /** The whole request. */
  #body: Buffer = NO_BYTES;
  #heldBytes = 0;
  #over = false;
  #namespace: Namespace | undefined;
  #target: Target | undefined;
  #attempt: Attempt | undefined;
  /** It was sent once more after a cell that was not active. */
  #retried = false;
  #handoverRefusals = 0;
  /** When it was held for the first time. */
  #heldMs: number | undefined;
  #leaveHold = ignore;
  /** What to do with the whole request. */
  #next: () => void = ignore;

  constructor(client: ServerHttp2Stream, headers: IncomingHttpHeaders, context: CallContext) {
    this.#client = client;
    this.#headers = headers;
    this.#context = context;
    this.#path = String(headers[':path']);
    this.#startMs = context.clock.monotonicMs();
    this.#arrival = context.holds.arrive();
    this.#maxBytes = context.config.maxRequestBytes;
    context.calls.add(this);
    context.metrics.calls.inc();
    context.metrics.inFlight.set(context.calls.size);
    client.on('error', ignore); // `close` follows
    client.on('close', () => this.#clientGone());
    const refusal = this.#begin(context.routes.get(this.#path));
    if (refusal === undefined) {
      client.on('data', (chunk: Buffer) => this.#onData(chunk));
      client.on('end', () => this.#onEnd());
    } else {
      this.#fail(refusal);
    }
  }

  /** The router stops: who still waits is told to try elsewhere. */
  routerCloses(): void {
    this.#fail(
      new AtollError(
        'unavailable',
        'This router is shutting down: call again to reach another one.',
      ),
    );
  }

  answered(trailers: Trailers, message: Buffer): void {
    if (this.#over) return;
    this.#finish();
    this.#hold(message.length);
    answerAsCell(this.#client, trailers, message);
  }

  lost(): void {
    const cell = this.#target?.cell ?? '';
    this.#fail(
      new AtollError(
        'unavailable',
        `Cell ${cell} cannot be reached, or was lost before it answered: try again.`,
      ),
    );
  }

  refused(refusal: Refusal): void {
    if (this.#over) return;
    this.#attempt = undefined;
    if (refusal.kind === 'handover') return this.#refusedForHandover();
    if (this.#retried) return this.#fail(this.#moving());
    this.#retried = true;
    void this.#context.map.refresh().then(() => this.#retry(refusal.hint));
  }

  /** Chooses how the call goes on, or says why it does not. */
  #begin(route: Route | undefined): AtollError | undefined {
    if (route === undefined) return notServed(this.#path);
    if (route.kind === 'unimplemented') return notServed(this.#path, route.why);
    if (route.kind === 'local') {
      const call = this.#context.locals.get(route.name);
      if (call === undefined) return notServed(this.#path);
      const { refuseGzipProbe } = this.#context.config;
      if (refuseGzipProbe && isGzipProbe(route.name, this.#headers)) return gzipRefused();
      this.#maxBytes = this.#context.config.maxLocalBytes;
      this.#next = () => void this.#answerLocally(call);
      return undefined;
    }
    const name = this.#headers['temporal-namespace'];
    this.#next =
      typeof name === 'string' && name !== ''
        ? () => this.#route(resolveName(this.#context.map, name))
        : () => this.#scan(route.field);
    return undefined;
  }

  #onData(chunk: Buffer): void {
    if (this.#over) return;
    this.#received += chunk.length;
    const bytes = this.#received - FRAME_HEADER_BYTES;
    if (bytes > this.#maxBytes) return this.#fail(tooLarge(bytes, this.#maxBytes));
    const refusal = this.#hold(chunk.length);
    if (refusal !== undefined) {
      this.#context.metrics.limited('bytesOfCalls');
      return this.#fail(refusal);
    }
    this.#chunks.push(chunk);
  }

  #onEnd(): void {
    if (this.#over) return;
    // A copy: the chunks are views of what was read for many calls together.
    this.#body = Buffer.concat(this.#chunks, this.#received);
    this.#chunks = [];
    this.#next();
  }

  /** Until the client's stream is closed. */
  #hold(bytes: number): AtollError | undefined {
    this.#heldBytes += bytes;
    return this.#context.memory.hold(bytes);
  }

  async #answerLocally(call: LocalCall): Promise<void> {
    try {
      const encoding = encodingOf(this.#headers['grpc-encoding'] as string | undefined);
      if (encoding === undefined)
        throw new AtollError('unimplemented', 'Use grpc-encoding identity or gzip.');
      const answer = await call(
        unframe([this.#body], encoding, this.#context.config.maxLocalBytes),
        this.#credentials(),
      );
      if (this.#over) return;
      this.#finish();
      answerMessage(this.#client, answer);
    } catch (thrown) {
      this.#fail(toAtollError(thrown));
    }
  }

  #credentials(): Credentials {
    const { authorization } = this.#headers;
    return { authorization, peer: peerOf(this.#client.session) };
  }

  #scan(field: number): void {
    const { map, config } = this.#context;
    this.#route(resolveBody(map, this.#body, { field, maxInflatedBytes: config.maxRequestBytes }));
  }

  #route(resolved: Resolved): void {
    if (resolved.kind === 'refused') return this.#fail(resolved.error);
    if (resolved.kind === 'unknown') return void this.#askStore(resolved.name);
    if (resolved.kind === 'namespace') this.#sendTo(resolved.namespace);
  }

  /** A namespace that this router has not heard of may have been registered through another a moment ago. */
  async #askStore(name: string): Promise<void> {
    await this.#context.map.refresh();
    const namespace = this.#context.map.namespaceByName(name);
    if (namespace === undefined) return this.#fail(namespaceNotFound(name));
    this.#sendTo(namespace);
  }

  #sendTo(namespace: Namespace): void {
    this.#namespace = namespace;
    const refusal = this.#context.limits.refuse(namespace, this.#path);
    if (refusal !== undefined) {
      this.#context.metrics.limited(refusal.limit);
      return this.#fail(refusal.error);
    }
    this.#sendToOwner(namespace);
  }

  /** By the map as it is now; held while that says that there is none. */
  #sendToOwner(namespace: Namespace): void {
    const { active, epoch, state } = namespace.placement;
    if (state.kind === 'handover') this.#waitForMove(namespace);
    else this.#send({ cell: active, epoch });
  }

  /** Closed by its cell, perhaps before the map tells: at once to another owner, else held, and the map asked. */
  #refusedForHandover(): void {
    const { map, config } = this.#context;
    this.#handoverRefusals += 1;
    const namespace = map.namespaceById(this.#namespace?.id ?? '');
    if (namespace === undefined || this.#handoverRefusals > config.maxHandoverRefusals)
      return this.#fail(this.#moving());
    const { active, epoch, state } = namespace.placement;
    if (state.kind === 'active' && epoch > (this.#target?.epoch ?? 0))
      return this.#send({ cell: active, epoch });
    this.#waitForMove(namespace);
    void map.refresh();
  }

  #waitForMove(namespace: Namespace): void {
    if (this.#over) return;
    const { holds, metrics, clock } = this.#context;
    this.#heldMs ??= clock.monotonicMs();
    const outcome = holds.hold({
      ...{ namespace, arrival: this.#arrival, bytes: this.#received },
      ...{ waitMs: this.#mayBeHeldMs(this.#heldMs), refusals: this.#handoverRefusals },
      release: () => this.#released(),
      expire: (error) => this.#fail(error),
    });
    if (outcome.kind === 'held') {
      this.#leaveHold = outcome.leave;
      return;
    }
    metrics.limited(outcome.bound);
    this.#fail(outcome.error);
  }

  /** Until just before the client's deadline, so that it hears why; without one for `holdMs`, all holds together. */
  #mayBeHeldMs(sinceMs: number): number {
    const { clock, config } = this.#context;
    const leftMs = this.#leftMs();
    return leftMs === undefined
      ? config.holdMs - (clock.monotonicMs() - sinceMs)
      : leftMs - ANSWER_MS;
  }

  #released(): void {
    if (this.#over) return;
    const namespace = this.#context.map.namespaceById(this.#namespace?.id ?? '');
    if (namespace === undefined || namespace.state === 'deleted')
      return this.#fail(namespaceNotFound(this.#namespace?.name ?? ''));
    this.#sendToOwner(namespace);
  }

  /** The owner: by the map as it is now, or by the refusing cell where that knows a later epoch than the map. */
  #retry(hint: OwnerHint): void {
    const { map } = this.#context;
    const namespace = map.namespaceById(this.#namespace?.id ?? '');
    if (namespace === undefined || this.#over) return this.#fail(this.#moving());
    const { active, epoch, state } = namespace.placement;
    const hinted = hint.epoch > epoch && map.cell(hint.owner) !== undefined;
    if (state.kind === 'handover' && !hinted) return this.#waitForMove(namespace);
    const target = hinted ? { cell: hint.owner, epoch: hint.epoch } : { cell: active, epoch };
    if (target.cell === this.#target?.cell && target.epoch === this.#target.epoch)
      return this.#fail(this.#moving());
    this.#send(target);
  }

  #send(target: Target): void {
    if (this.#over) return;
    const { map, upstreams, metrics } = this.#context;
    const waited = this.#target !== undefined || this.#heldMs !== undefined;
    if (this.#target !== undefined) metrics.retries.inc();
    this.#target = target;
    const cell = map.cell(target.cell);
    if (cell === undefined)
      return this.#fail(
        new AtollError('unavailable', `Cell ${target.cell} is not in the fleet map.`),
      );
    const head = upstreamHead(this.#headers, {
      ...{ namespaceId: this.#namespace?.id ?? '', epoch: target.epoch },
      certificate: peerOf(this.#client.session),
      leftMs: waited ? this.#leftMs() : undefined,
    });
    try {
      const link = upstreams.link(cell.address);
      this.#attempt = new Attempt(link, { head, body: [this.#body] }, this);
    } catch (thrown) {
      this.#fail(
        new AtollError(
          'unavailable',
          `Cell ${target.cell} does not answer now, and nothing was sent to it: try again.`,
          { cause: thrown },
        ),
      );
    }
  }

  /** What is left of the client's deadline, ms; undefined if it has none. */
  #leftMs(): number | undefined {
    const timeoutMs = parseTimeout(this.#headers['grpc-timeout'] as string | undefined);
    if (timeoutMs === undefined) return undefined;
    return timeoutMs - (this.#context.clock.monotonicMs() - this.#startMs);
  }

  #moving(): AtollError {
    const name = this.#namespace?.name ?? '';
    return new AtollError('unavailable', `Namespace ${name} is moving between cells: try again.`);
  }

  #clientGone(): void {
    this.#context.calls.delete(this);
    this.#context.metrics.inFlight.set(this.#context.calls.size);
    this.#context.memory.letGo(this.#heldBytes);
    this.#heldBytes = 0;
    this.#attempt?.drop();
    this.#finish();
  }

  #fail(error: AtollError): void {
    if (this.#over) return;
    this.#attempt?.drop();
    this.#finish();
    this.#context.metrics.error(error.code);
    // The rest of its request is dropped as it comes: a stream that is not read never closes.
    this.#client.resume();
    answerError(this.#client, error);
  }

  #finish(): void {
    this.#over = true;
    this.#leaveHold();
    this.#chunks = [];
    this.#body = NO_BYTES;
    this.#attempt = undefined;
  }
}

/** Before the client's deadline, so that an answer gets there in time. */
const ANSWER_MS = 50;
const ignore = () => {};
const NO_BYTES = Buffer.alloc(0);
