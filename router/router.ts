/**
 * The router: one HTTP/2 port for the whole fleet, no workflow state, no database (D11).
 *
 * Place: composed by bin/. Every stream becomes a Call; the fleet map says where it goes.
 *
 * Invariants
 *  1. Streams of a connection, memory of a connection and connections to cells are bounded (P11).
 *  2. `close` ends within its drain time: calls then in flight are told UNAVAILABLE.
 */
import { createSecureServer, createServer } from 'node:http2';
import type {
  Http2SecureServer,
  Http2Server,
  SecureClientSessionOptions,
  SecureServerOptions,
  ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { CachedFleetMap } from '../fleet/cached-map.ts';
import type { Rights } from '../fleet/rights.ts';
import { noBreaker, type MakeBreaker } from '../kernel/breaker.ts';
import { sleep, type Clock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { WINDOW_BYTES } from '../kernel/rpc/server.ts';
import { noMetrics, type Metrics } from '../kernel/metrics.ts';
import type { Rng } from '../kernel/rng.ts';
import { answerNotGrpc } from './answer.ts';
import { Call, type CallContext } from './call.ts';
import { routerConfig, type RouterConfig } from './config.ts';
import { Holds } from './holds.ts';
import { localCalls } from './local-calls.ts';
import { MemoryBudget } from './memory-budget.ts';
import { routesOfContract } from './methods.ts';
import { NamespaceLimits } from './namespace-limits.ts';
import type { RouterParts } from './parts.ts';
import { ReflectionCall } from './reflection-call.ts';
import { reflectionService } from './reflection.ts';
import { routerMetrics } from './router-metrics.ts';
import { Upstreams } from './upstreams.ts';

/** Memory that one client connection may pin, in MiB. */
const MAX_SESSION_MEMORY_MIB = 256;

export type StartRouterOptions = {
  /** Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly map: CachedFleetMap;
  readonly log: Log;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly config?: Partial<RouterConfig>;
  readonly metrics?: Metrics | undefined;
  /** TLS on the port that clients call; cleartext by default. */
  readonly tls?: SecureServerOptions | undefined;
  /** TLS to the cells; cleartext by default. */
  readonly cellTls?: SecureClientSessionOptions | undefined;
  /** Who may do what of the router's own calls; everybody everything by default. */
  readonly rights?: Rights | undefined;
  /** Breakers of the cells; none by default. */
  readonly makeBreaker?: MakeBreaker | undefined;
};

export type RunningRouter = {
  readonly address: { readonly host: string; readonly port: number };
  /** Takes no new calls, waits `drainMs` for those in flight, then ends them. */
  close(): Promise<void>;
};

/** @throws AtollError `failed-precondition` if the port cannot be had, saying which port and which flag */
export async function startRouter(options: StartRouterOptions): Promise<RunningRouter> {
  const { map, clock, rng, log } = options;
  const config = routerConfig(options.config);
  const metrics = routerMetrics(options.metrics ?? noMetrics);
  const parts = { map, clock, rng, log, config, metrics, rights: options.rights };
  const upstreams = upstreamsOf(options, parts);
  const limits = new NamespaceLimits(config, clock);
  const look = () => void map.refresh();
  const holds = new Holds(config, { clock, metrics: metrics.holds, look });
  const context: CallContext = {
    ...parts,
    upstreams,
    limits,
    holds,
    memory: new MemoryBudget(config.bytesOfCalls),
    calls: new Set(),
    routes: routesOfContract(),
    locals: localCalls(parts),
  };
  const forget = map.onChange((next) => {
    upstreams.keepOnly(next);
    upstreams.prepare(next);
    limits.keepOnly(next);
    holds.onMap(next);
  });
  const front = new Front(context, options.tls);
  try {
    const address = await front.listen(options.listen);
    const close = async () => {
      forget();
      await front.close();
      upstreams.close();
    };
    return { address, close };
  } catch (error) {
    forget();
    throw error;
  }
}

function upstreamsOf(options: StartRouterOptions, parts: RouterParts): Upstreams {
  const { clock, config, log, metrics } = parts;
  return new Upstreams({
    links: config.linksPerCell,
    clock,
    tls: options.cellTls,
    makeBreaker: options.makeBreaker ?? noBreaker,
    onBreaker: (address, isOpen) => {
      const [id = 'gone'] =
        Object.entries(options.map.map.cells).find(([, cell]) => cell.address === address) ?? [];
      metrics.breaker(id).set(isOpen ? 1 : 0);
      if (isOpen) log.warn({ cell: id, address }, 'a cell does not answer: its calls fail at once');
      else log.info({ cell: id, address }, 'a cell answers again');
    },
  });
}

/** The listening side: connections of clients and their calls. */
class Front {
  readonly #context: CallContext;
  readonly #server: Http2Server | Http2SecureServer;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(context: CallContext, tls: SecureServerOptions | undefined) {
    this.#context = context;
    const settings = {
      initialWindowSize: WINDOW_BYTES,
      maxConcurrentStreams: context.config.maxStreamsPerClient,
    };
    // A worker that stops cancels its polls all at once.
    const resets = { streamResetBurst: 20_000, streamResetRate: 2_000 };
    const http2 = { settings, maxSessionMemory: MAX_SESSION_MEMORY_MIB, ...resets };
    this.#server =
      tls === undefined ? createServer(http2) : createSecureServer({ ...tls, ...http2 });
    this.#server.on('session', (session) => this.#onSession(session));
    this.#server.on('stream', (stream, headers) => {
      const type = headers['content-type'];
      const isGrpc = type !== undefined && /^application\/grpc($|[+;])/.test(type);
      if (headers[':method'] !== 'POST' || !isGrpc) {
        stream.on('error', () => {});
        return answerNotGrpc(stream);
      }
      const service = reflectionService(String(headers[':path']));
      if (service === undefined) new Call(stream, headers, context);
      else new ReflectionCall(stream, { service, headers }, context);
    });
  }

  listen(at: { host: string; port: number }): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      const onError = (cause: NodeJS.ErrnoException) => reject(cannotListen(at, cause));
      this.#server.once('error', onError);
      this.#server.listen(at.port, at.host, () => {
        this.#server.off('error', onError);
        this.#server.on('error', (error: Error) => {
          this.#context.log.error({ error: error.message }, 'The router cannot take a connection.');
        });
        resolve({ host: at.host, port: (this.#server.address() as AddressInfo).port });
      });
    });
  }

  async close(): Promise<void> {
    const { clock, config } = this.#context;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.close();
    const drained = new AbortController();
    const patience = sleep(clock, config.drainMs, drained.signal).then(() => this.#cutOff());
    await Promise.race([closed, patience]);
    drained.abort();
    await Promise.allSettled([patience]);
    await closed;
  }

  /** Tells every call, and gives the answers one turn of the loop to leave. */
  async #cutOff(): Promise<void> {
    for (const call of this.#context.calls) call.routerCloses();
    await sleep(this.#context.clock, 10);
    for (const session of this.#sessions) session.destroy();
  }

  #onSession(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.setLocalWindowSize(WINDOW_BYTES * 4);
    session.on('error', () => session.destroy());
    session.on('close', () => this.#sessions.delete(session));
  }
}

function cannotListen(
  at: { host: string; port: number },
  cause: NodeJS.ErrnoException,
): AtollError {
  const where = `${at.host}:${at.port}`;
  const why =
    cause.code === 'EADDRINUSE'
      ? `${where} is in use by another program: stop it, or choose another port with --port`
      : `cannot listen on ${where} (${cause.message}): choose another address with --ip and --port`;
  return new AtollError('failed-precondition', why, { cause });
}
