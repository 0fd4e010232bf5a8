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
 *  2. At most `maxReplayBytes` of a request are kept, and none once its answer has begun.
 *  3. It has no timer of its own: the client's deadline travels to the cell, a dead connection fails its calls at once,
 *     and a hold ends with its deadline.
 *  4. While the call waits for the map or is held, its client is not read.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Namespace } from '../fleet/map.ts';
import type { Credentials } from '../fleet/rights.ts';
import { AtollError, toAtollError } from '../kernel/errors.ts';
import { encodingOf, unframe } from '../kernel/rpc/frame.ts';
import { peerOf } from '../kernel/rpc/peer.ts';
import { parseTimeout } from '../kernel/rpc/timeout.ts';
import { namespaceNotFound } from '../wire/failures.ts';
import { answerError, answerMessage } from './answer.ts';
import { Attempt, type AttemptOwner, type OwnerHint, type Refusal } from './attempt.ts';
import { gzipRefused, isGzipProbe } from './gzip-probe.ts';
import type { Holds } from './holds.ts';
import type { LocalCall } from './local-calls.ts';
import { notServed, type Route } from './methods.ts';
import type { RouterParts } from './parts.ts';
import { resolveBody, resolveName, tooLongToScan, type Resolved } from './resolve.ts';
import type { NamespaceLimits } from './namespace-limits.ts';
import { upstreamHeaders } from './upstream-headers.ts';
import type { Upstreams } from './upstreams.ts';

/** What every call of a router shares. */
export type CallContext = RouterParts & {
  readonly routes: ReadonlyMap<string, Route>;
  readonly locals: ReadonlyMap<string, LocalCall>;
  readonly upstreams: Upstreams;
  readonly limits: NamespaceLimits;
  readonly holds: Holds;
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
  /** The request so far; undefined once it is no longer kept. */
  #kept: Buffer[] | undefined = [];
  #received = 0;
  /** Bytes at which the gathered request is looked at again. */
  #lookAt: number;
  #ended = false;
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
  /** Goes on when enough of the request is here; undefined while an attempt or a wait is under way. */
  #next: (() => void) | undefined;

  constructor(client: ServerHttp2Stream, headers: IncomingHttpHeaders, context: CallContext) {
    this.#client = client;
    this.#headers = headers;
    this.#context = context;
    this.#path = String(headers[':path']);
    this.#startMs = context.clock.monotonicMs();
    this.#arrival = context.holds.arrive();
    this.#lookAt = context.config.gatherBytes;
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

  answering(): void {
    this.#kept = undefined;
  }

  answered(): void {
    this.#finish();
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
    this.#client.pause();
    if (this.#kept === undefined) return this.#fail(this.#moving());
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
      this.#lookAt = this.#context.config.maxLocalBytes;
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
    if (this.#kept !== undefined) {
      this.#kept.push(chunk);
      if (this.#attempt !== undefined && this.#received > this.#context.config.maxReplayBytes)
        this.#kept = undefined;
    }
    if (this.#attempt !== undefined) this.#attempt.write(chunk);
    else if (this.#next === undefined) this.#client.pause();
    else if (this.#received >= this.#lookAt) this.#next();
  }

  #onEnd(): void {
    this.#ended = true;
    if (this.#attempt !== undefined) this.#attempt.end();
    else this.#next?.();
  }

  async #answerLocally(call: LocalCall): Promise<void> {
    this.#next = undefined;
    try {
      if (!this.#ended)
        throw new AtollError(
          'resource-exhausted',
          `A request of ${this.#path} is at most ${this.#lookAt} bytes long.`,
        );
      const encoding = encodingOf(this.#headers['grpc-encoding'] as string | undefined);
      if (encoding === undefined)
        throw new AtollError('unimplemented', 'Use grpc-encoding identity or gzip.');
      const answer = await call(
        unframe(this.#kept ?? [], encoding, this.#context.config.maxLocalBytes),
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
    const body = Buffer.concat(this.#kept ?? []);
    const options = { field, ended: this.#ended, maxInflatedBytes: config.maxReplayBytes };
    const resolved = resolveBody(map, body, options);
    if (resolved.kind !== 'more') return this.#route(resolved);
    // Twice as much before the next look, so that looking stays linear in the request's length.
    this.#lookAt = this.#received * 2;
    if (this.#received > config.maxReplayBytes) this.#fail(tooLongToScan(config.maxReplayBytes));
  }

  #route(resolved: Resolved): void {
    if (resolved.kind === 'refused') return this.#fail(resolved.error);
    if (resolved.kind === 'unknown') return void this.#askStore(resolved.name);
    if (resolved.kind === 'namespace') this.#sendTo(resolved.namespace);
  }

  /** A namespace that this router has not heard of may have been registered through another a moment ago. */
  async #askStore(name: string): Promise<void> {
    this.#next = undefined;
    this.#client.pause();
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
    if (state.kind === 'handover') this.#hold(namespace);
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
    this.#hold(namespace);
    void map.refresh();
  }

  #hold(namespace: Namespace): void {
    if (this.#over) return;
    const { holds, metrics, clock } = this.#context;
    this.#next = undefined;
    this.#client.pause();
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
    if (state.kind === 'handover' && !hinted) return this.#hold(namespace);
    const target = hinted ? { cell: hint.owner, epoch: hint.epoch } : { cell: active, epoch };
    if (target.cell === this.#target?.cell && target.epoch === this.#target.epoch)
      return this.#fail(this.#moving());
    this.#send(target);
  }

  #send(target: Target): void {
    if (this.#over) return;
    this.#next = undefined;
    const { map, upstreams, metrics } = this.#context;
    const waited = this.#target !== undefined || this.#heldMs !== undefined;
    if (this.#target !== undefined) metrics.retries.inc();
    this.#target = target;
    const cell = map.cell(target.cell);
    if (cell === undefined)
      return this.#fail(
        new AtollError('unavailable', `Cell ${target.cell} is not in the fleet map.`),
      );
    const chunks = this.#kept ?? [];
    try {
      const session = upstreams.session(cell.address);
      const waiters = upstreams.waitersOn(session);
      const headers = upstreamHeaders(this.#headers, {
        ...{ namespaceId: this.#namespace?.id ?? '', epoch: target.epoch },
        certificate: peerOf(this.#client.session),
        leftMs: waited ? this.#leftMs() : undefined,
      });
      this.#attempt = new Attempt({ client: this.#client, owner: this, session, waiters, headers });
    } catch (thrown) {
      return this.#fail(
        new AtollError(
          'unavailable',
          `Cell ${target.cell} does not answer now, and nothing was sent to it: try again.`,
          { cause: thrown },
        ),
      );
    }
    this.#client.resume();
    if (this.#ended && chunks.length === 1) return this.#attempt.end(chunks[0]);
    for (const chunk of chunks) this.#attempt.write(chunk);
    if (this.#ended) this.#attempt.end();
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
    this.#kept = undefined;
    this.#attempt = undefined;
    this.#next = undefined;
  }
}

/** Before the client's deadline, so that an answer gets there in time. */
const ANSWER_MS = 50;
const ignore = () => {};
