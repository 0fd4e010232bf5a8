/**
 * The port for operators and their tools, on plain HTTP: `/metrics`, `/health` (this process is alive) and `/ready`
 * (it serves all that it should).
 *
 * Place: started by composition roots before the parts that it reports on. Never the port that clients call.
 *
 * Invariants
 *  1. `/health` is answered as long as the event loop turns; `/ready` says in words what is missing.
 *  2. It answers GET alone, reads no body, and keeps no connection open after `close`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AtollError } from './errors.ts';

export type OpsServerOptions = {
  readonly scrape: () => Promise<string>;
  readonly contentType: string;
  /** What is missing, one sentence each; empty = ready. */
  readonly missing: () => readonly string[];
};

export type OpsServer = {
  readonly address: { readonly host: string; readonly port: number };
  close(): Promise<void>;
};

/** @throws AtollError `failed-precondition` when the port cannot be had */
export async function startOpsServer(
  listen: { readonly host: string; readonly port: number },
  options: OpsServerOptions,
): Promise<OpsServer> {
  const server = createServer({ maxHeaderSize: 8_192, requestTimeout: 5_000 });
  server.on('request', (request, response) => void answer(request, response, options));
  await listening(server, listen);
  const { port } = server.address() as AddressInfo;
  const close = () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    return closed;
  };
  return { address: { host: listen.host, port }, close };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: OpsServerOptions,
): Promise<void> {
  const [path] = (request.url ?? '').split('?');
  if (request.method !== 'GET' && request.method !== 'HEAD') return say(response, 405, 'GET only');
  if (path === '/health') return say(response, 200, 'alive');
  if (path === '/ready') {
    const missing = options.missing();
    return say(response, missing.length === 0 ? 200 : 503, missing.join('\n') || 'ready');
  }
  if (path !== '/metrics') return say(response, 404, 'Here are /metrics, /health and /ready.');
  try {
    const text = await options.scrape();
    response.writeHead(200, { 'content-type': options.contentType }).end(text);
  } catch (error) {
    say(response, 500, error instanceof Error ? error.message : String(error));
  }
}

function say(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

function listening(server: Server, at: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const inUse = cause.code === 'EADDRINUSE';
      const why = inUse
        ? 'is in use by another program'
        : `cannot be listened on (${cause.message})`;
      const message = `The metrics port ${at.host}:${at.port} ${why}: choose another with --metrics-port and --metrics-host.`;
      reject(new AtollError('failed-precondition', message, { cause }));
    });
    server.listen(at.port, at.host, () => {
      server.removeAllListeners('error');
      server.on('error', () => {});
      resolve();
    });
  });
}
