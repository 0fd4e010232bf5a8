/**
 * One call of a client, from its first header to its last: which namespace, which cell, and once more on the owner if
 * that cell was not active (D8, D11).
 *
 * Place: made by router.ts for every gRPC stream. It reads the client's stream; attempt.ts carries the bytes.
 *
 * Invariants
 *  1. A call is tried at most twice, the second time only after a cell said that it did nothing (P4), and
 *     NamespaceNotActive never reaches the client.
 *  2. At most `maxReplayBytes` of a request are kept, and none once its answer has begun.
 *  3. It has no timer: the client's deadline travels to the cell, and a dead connection fails its calls at once.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import {
  CALLER_CERTIFICATE_HEADER,
  CALLER_HOP_HEADER,
  EPOCH_HEADER,
  NAMESPACE_ID_HEADER,
} from '../fleet/call-headers.ts';
import type { Namespace } from '../fleet/map.ts';
import type { Credentials } from '../fleet/rights.ts';
import { AtollError, toAtollError } from '../kernel/errors.ts';
import { encodingOf, unframe } from '../kernel/rpc/frame.ts';
import { peerOf } from '../kernel/rpc/peer.ts';
import { formatTimeout, parseTimeout } from '../kernel/rpc/timeout.ts';
import { namespaceNotFound } from '../wire/failures.ts';
import { answerError, answerMessage } from './answer.ts';
import { Attempt, type AttemptOwner, type OwnerHint } from './attempt.ts';
import type { LocalCall } from './local-calls.ts';
import { notServed, type Route } from './methods.ts';
import type { RouterParts } from './parts.ts';
import { resolveBody, resolveName, tooLongToScan, type Resolved } from './resolve.ts';
import type { NamespaceLimits } from './namespace-limits.ts';
import type { Upstreams } from './upstreams.ts';

/** What every call of a router shares. */
export type CallContext = RouterParts & {
  readonly routes: ReadonlyMap<string, Route>;
  readonly locals: ReadonlyMap<string, LocalCall>;
  readonly upstreams: Upstreams;
  readonly limits: NamespaceLimits;
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
  #retried = false;
  /** Goes on when enough of the request is here; undefined while an attempt or a wait is under way. */
  #next: (() => void) | undefined;

  constructor(client: ServerHttp2Stream, headers: IncomingHttpHeaders, context: CallContext) {
    this.#client = client;
    this.#headers = headers;
    this.#context = context;
    this.#path = String(headers[':path']);
    this.#startMs = context.clock.monotonicMs();
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

  refused(hint: OwnerHint): void {
    if (this.#over) return;
    this.#attempt = undefined;
    this.#client.pause();
    if (this.#retried || this.#kept === undefined) return this.#fail(this.#moving());
    this.#retried = true;
    void this.#context.map.refresh().then(() => this.#retry(hint));
  }

  /** Chooses how the call goes on, or says why it does not. */
  #begin(route: Route | undefined): AtollError | undefined {
    if (route === undefined) return notServed(this.#path);
    if (route.kind === 'unimplemented') return notServed(this.#path, route.why);
    if (route.kind === 'local') {
      const call = this.#context.locals.get(route.name);
      if (call === undefined) return notServed(this.#path);
      if (this.#isGzipProbe(route.name)) return gzipRefused();
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

  /** Clients on sdk-core (their transport is tonic) probe with gzip, and others would lose the answer for good. */
  #isGzipProbe(name: string): boolean {
    if (!this.#context.config.refuseGzipProbe || name !== 'GetSystemInfo') return false;
    const { 'grpc-encoding': encoding, 'user-agent': agent } = this.#headers;
    return encoding === 'gzip' && agent?.includes('tonic/') === true;
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
    else if (this.#received >= this.#lookAt) this.#next?.();
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
    this.#client.resume();
  }

  #sendTo(namespace: Namespace): void {
    this.#namespace = namespace;
    const refusal = this.#context.limits.refuse(namespace, this.#path);
    if (refusal !== undefined) {
      this.#context.metrics.limited(refusal.limit);
      return this.#fail(refusal.error);
    }
    const { active, epoch } = namespace.placement;
    this.#send({ cell: active, epoch });
  }

  /** The owner: by the map as it is now, or by the refusing cell where that knows a later epoch than the map. */
  #retry(hint: OwnerHint): void {
    const { map } = this.#context;
    const namespace = map.namespaceById(this.#namespace?.id ?? '');
    if (namespace === undefined || this.#over) return this.#fail(this.#moving());
    const { active, epoch } = namespace.placement;
    const hinted = hint.epoch > epoch && map.cell(hint.owner) !== undefined;
    const target = hinted ? { cell: hint.owner, epoch: hint.epoch } : { cell: active, epoch };
    if (target.cell === this.#target?.cell && target.epoch === this.#target.epoch)
      return this.#fail(this.#moving());
    this.#context.metrics.retries.inc();
    this.#send(target);
    this.#client.resume();
  }

  #send(target: Target): void {
    if (this.#over) return;
    this.#next = undefined;
    this.#target = target;
    const { map, upstreams } = this.#context;
    const cell = map.cell(target.cell);
    if (cell === undefined)
      return this.#fail(
        new AtollError('unavailable', `Cell ${target.cell} is not in the fleet map.`),
      );
    const chunks = this.#kept ?? [];
    try {
      const session = upstreams.session(cell.address);
      const waiters = upstreams.waitersOn(session);
      const headers = this.#upstreamHeaders(target.epoch);
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
    if (this.#ended && chunks.length === 1) return this.#attempt.end(chunks[0]);
    for (const chunk of chunks) this.#attempt.write(chunk);
    if (this.#ended) this.#attempt.end();
  }

  /** The client's headers but those of its connection and those that are ours to set. */
  #upstreamHeaders(epoch: number): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { ':method': 'POST', ':path': this.#path };
    for (const name in this.#headers) {
      if (name.charCodeAt(0) !== COLON && !name.startsWith('atoll-'))
        headers[name] = this.#headers[name];
    }
    headers[NAMESPACE_ID_HEADER] = this.#namespace?.id;
    headers[EPOCH_HEADER] = String(epoch);
    headers[CALLER_HOP_HEADER] = '1';
    const certificate = peerOf(this.#client.session);
    if (certificate !== undefined) headers[CALLER_CERTIFICATE_HEADER] = certificate;
    if (this.#retried) this.#shortenTimeout(headers);
    return headers;
  }

  /** The second attempt has what the first left of the client's deadline. */
  #shortenTimeout(headers: OutgoingHttpHeaders): void {
    const timeoutMs = parseTimeout(this.#headers['grpc-timeout'] as string | undefined);
    if (timeoutMs === undefined) return;
    headers['grpc-timeout'] = formatTimeout(
      timeoutMs - (this.#context.clock.monotonicMs() - this.#startMs),
    );
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
    answerError(this.#client, error);
  }

  #finish(): void {
    this.#over = true;
    this.#kept = undefined;
    this.#attempt = undefined;
    this.#next = undefined;
  }
}

/** Worded as grpc-go servers word it: sdk-core looks for these words, asks again plainly, and never compresses again. */
function gzipRefused(): AtollError {
  const message = 'grpc: Decompressor is not installed for grpc-encoding "gzip"';
  return new AtollError('unimplemented', message);
}

const COLON = 58;
const ignore = () => {};
