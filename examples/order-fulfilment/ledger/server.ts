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
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Journal } from '../journal.ts';
import type { Order } from '../order.ts';
import { Book } from './book.ts';
import { CALL_KINDS, type Call, type CallKind } from './entry.ts';

const LARGEST_CALL_BYTES = 16 * 1024;

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
  if (request.method === 'GET') return ask(book, { what, order }, response);
  const kind = CALL_KINDS.find((known) => known === what);
  if (request.method !== 'POST' || !kind) return answer(response, 404, { message: 'no such call' });
  await perform(book, journal, { kind, call: await readCall(request) }, response);
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
