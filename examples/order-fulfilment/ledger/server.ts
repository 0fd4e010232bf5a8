/**
 * The ledger as a service: card network, warehouse and support desk in one small HTTP server.
 *
 * Place: stands for the outside world of the shop, which no workflow engine can roll back.
 *
 *   POST /capture | /refund | /reserve | /case   a Call; answers its Entry
 *   GET  /captures/:order, /refunds/:order       the entries that moved money for the order
 *   GET  /totals                                 what was done, by order
 *
 * Invariants
 *  1. An entry is on disk before its caller gets an answer.
 *  2. Nothing is refused: what is asked twice is done twice.
 *  3. A question is answered after every call whose bytes had arrived when it came, also of callers that hung up since:
 *     who gave up on a call and asks is never told of less than what was done.
 */
import {
  createServer,
  get,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Journal } from '../journal.ts';
import type { Order } from '../order.ts';
import { Book } from './book.ts';
import { CALL_KINDS, type Call, type CallKind } from './entry.ts';

const LARGEST_CALL_BYTES = 16 * 1024;
/** Turns of the event loop after which a call is read whose connection is accepted: its head, its body, its end. */
const TURNS_TO_READ = 4;
const CATCH_UP_MS = 10_000;
/** What the ledger asks itself, to know that its turn has come. */
const HERE = 'here';

export type LedgerOptions = {
  /** The orders whose facts are played. */
  readonly orders: readonly Order[];
  /** The append-only file, one JSON line a call. */
  readonly journalPath: string;
  /** Port on loopback; 0 takes a free one. */
  readonly port: number;
};

/** A running ledger. */
export type Ledger = { readonly url: string; readonly book: Book; close(): Promise<void> };

/** Starts a ledger on loopback. */
export async function startLedger(options: LedgerOptions): Promise<Ledger> {
  const book = new Book(options.orders);
  const journal = await Journal.open(options.journalPath);
  const server = createServer((request, response) => {
    serve(book, journal, request, response).catch((error: unknown) => {
      if (!response.headersSent) answer(response, 500, { message: String(error) });
    });
  });
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    book,
    close: () => closeAll(server, journal),
  };
}

async function serve(
  book: Book,
  journal: Journal,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, what = '', order = ''] = (request.url ?? '').split('/').map(decodeURIComponent);
  if (request.method === 'GET') {
    if (what === HERE) return answer(response, 200, {});
    await caughtUp(request.socket.localPort ?? 0);
    return ask(book, { what, order }, response);
  }
  const kind = CALL_KINDS.find((known) => known === what);
  if (request.method !== 'POST' || !kind) return answer(response, 404, { message: 'no such call' });
  await perform(book, journal, { kind, call: await readCall(request) }, response);
}

/**
 * Resolves once every call is read whose bytes had arrived (invariant 3). Connections are accepted in the order in which
 * they were made: when one of our own is served, all earlier ones are accepted, and what they brought is read in the turns
 * that follow.
 */
async function caughtUp(port: number): Promise<void> {
  const options = { host: '127.0.0.1', port, path: `/${HERE}`, agent: false };
  await new Promise<void>((resolve, reject) => {
    get({ ...options, signal: AbortSignal.timeout(CATCH_UP_MS) }, (response) => {
      response.resume().once('end', resolve);
    }).once('error', reject);
  });
  for (let turn = 0; turn < TURNS_TO_READ; turn += 1) await nextTurn();
}

function ask(
  book: Book,
  { what, order }: { what: string; order: string },
  response: ServerResponse,
) {
  if (what === 'totals') return answer(response, 200, book.totals());
  const kind = what === 'captures' ? 'capture' : what === 'refunds' ? 'refund' : undefined;
  if (!kind) return answer(response, 404, { message: 'ask for captures, refunds or totals' });
  const moved = book.of(order).filter((entry) => entry.kind === kind && entry.outcome === 'done');
  return answer(response, 200, moved);
}

async function perform(
  book: Book,
  journal: Journal,
  { kind, call }: { kind: CallKind; call: Call },
  response: ServerResponse,
): Promise<void> {
  const decision = book.decide(kind, call, new Date().toISOString());
  await journal.append(decision.entry);
  if (decision.answer === 'lost') response.socket?.destroy();
  else answer(response, decision.entry.outcome === 'failed' ? 503 : 200, decision.entry);
}

async function readCall(request: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_CALL_BYTES) throw new Error(`a call is at most ${LARGEST_CALL_BYTES} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Call;
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
}

async function closeAll(server: Server, journal: Journal): Promise<void> {
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  await journal.close();
}
