/**
 * The answering end of a link (link.ts): each call becomes a ServerCall, as one that came by HTTP/2 does.
 * Place: made by rpc/server.ts for every connection that says hello as a link.
 *
 * Invariants
 *  1. Calls at a time on one link are bounded (P11); one beyond is refused at once.
 *  2. A caller that has been silent for `SILENT_MS` is gone: its calls are cancelled, so that no task is given to it.
 *  3. Once it leaves, a new call is told so; it ends when the last one of those before is answered.
 */
import type { IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { CancelAlarm } from '../clock.ts';
import { AtollError } from '../errors.ts';
import {
  ServerCall,
  serverClosing,
  type CallWire,
  type ServerCallOptions,
} from '../rpc/server-call.ts';
import { statusHeaders, type StatusHeaders } from '../rpc/status.ts';
import { decodeHead, encodeFrame, encodeHead, FRAME, type Frame } from './frames.ts';
import { LinkSocket, type LinkUser } from './link-socket.ts';

/** Callers ping every few seconds; three of these and then some. */
const SILENT_MS = 30_000;

export type LinkServerOptions = ServerCallOptions & {
  /** Calls at a time. */
  readonly maxCalls: number;
  /** The verified certificate name of the other end. */
  readonly peer: string | undefined;
  readonly onCall: (call: ServerCall) => void;
  readonly onCallClosed: (call: ServerCall) => void;
  /** The connection is gone. */
  readonly onClosed: () => void;
};

export class LinkServer implements LinkUser {
  readonly #options: LinkServerOptions;
  readonly #socket: LinkSocket;
  readonly #calls = new Map<number, ServerCall>();
  #leaving = false;
  #heard = true;
  #cancelWatch: CancelAlarm = () => {};

  /** @param first what was read from the socket to find out that it is a link */
  constructor(socket: Socket, first: Buffer, options: LinkServerOptions) {
    this.#options = options;
    this.#socket = new LinkSocket(socket, this);
    this.#watch();
    this.#socket.read(first);
  }

  /** Takes no new calls. */
  leave(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#socket.send(encodeFrame(FRAME.goAway, 0));
    this.#endIfDone();
  }

  /** Ends it at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  greeted(): void {}

  frame(frame: Frame): void {
    this.#heard = true;
    if (frame.kind === FRAME.call) this.#onCall(frame);
    else if (frame.kind === FRAME.cancel) this.#onCancel(frame.call);
    else if (frame.kind === FRAME.ping) this.#socket.send(encodeFrame(FRAME.pong, frame.call));
  }

  closed(): void {
    this.#cancelWatch();
    for (const call of [...this.#calls.keys()]) this.#onCancel(call);
    this.#options.onClosed();
  }

  #onCall({ call: id, head, body }: Frame): void {
    const lines = head.split('\n');
    const wire = new LinkCallWire(lines, this.#options.peer, (frame) => {
      this.#socket.send(encodeFrame(FRAME.reply, id, frame.head, frame.body));
      this.#forget(id);
    });
    const refusal = this.#refusal();
    if (refusal !== undefined) return wire.refuse(statusHeaders(refusal));
    const call = new ServerCall(wire, this.#options);
    this.#calls.set(id, call);
    this.#options.onCall(call);
    call.received(body);
    void call.run();
  }

  #refusal(): AtollError | undefined {
    if (this.#leaving) return serverClosing();
    const { maxCalls } = this.#options;
    if (this.#calls.size < maxCalls) return undefined;
    const message = `this connection carries ${maxCalls} calls already; wait for some, or open another one`;
    return new AtollError('resource-exhausted', message);
  }

  #onCancel(id: number): void {
    this.#calls.get(id)?.clientGone();
    this.#forget(id);
  }

  #forget(id: number): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    this.#options.onCallClosed(call);
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#leaving && this.#calls.size === 0) this.#socket.end();
  }

  #watch(): void {
    this.#cancelWatch = this.#options.clock.after(SILENT_MS, () => {
      if (!this.#heard) return this.#socket.destroy();
      this.#heard = false;
      this.#watch();
    });
  }
}

type Reply = { readonly head: string; readonly body: readonly Uint8Array[] };

class LinkCallWire implements CallWire {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly peer: string | undefined;
  readonly #send: (reply: Reply) => void;

  constructor(lines: readonly string[], peer: string | undefined, send: (reply: Reply) => void) {
    this.path = lines[0] ?? '';
    this.headers = decodeHead(lines, 1);
    this.peer = peer;
    this.#send = send;
  }

  answer(chunks: readonly Uint8Array[]): void {
    this.#send({ head: '', body: chunks });
  }

  refuse(status: StatusHeaders): void {
    this.#send({ head: encodeHead(status), body: [] });
  }
}
