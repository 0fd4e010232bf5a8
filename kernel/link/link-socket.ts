/**
 * One end of a link: frames out of and into a socket (frames.ts).
 *
 * Place: under link.ts, which calls, and link-server.ts, which answers.
 *
 * Invariants
 *  1. Frames leave in the order in which they were sent; those of one turn of the loop leave in one write. Nothing waits
 *     for a timer.
 *  2. Its user hears `closed` exactly once, and nothing after it.
 *  3. What is not a link is closed at its first bytes.
 */
import type { Socket } from 'node:net';
import { AtollError } from '../errors.ts';
import { FrameReader, HELLO, type Frame } from './frames.ts';

export interface LinkUser {
  /** The other side has said that it speaks this protocol. */
  greeted(): void;
  frame(frame: Frame): void;
  /** The socket is gone; `error` says why, if anything did. */
  closed(error: Error | undefined): void;
}

/** Above this, chunks are handed to the socket one by one instead of being copied into one. */
const JOIN_BELOW_BYTES = 64 * 1024;

export class LinkSocket {
  readonly #socket: Socket;
  readonly #user: LinkUser;
  readonly #reader = new FrameReader();
  readonly #onFrame = (frame: Frame) => {
    if (!this.#closed) this.#user.frame(frame);
  };
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #flushing = false;
  #ending = false;
  #greeting: Buffer | undefined = Buffer.alloc(0);
  #error: Error | undefined;
  #closed = false;

  /** Says hello at once. */
  constructor(socket: Socket, user: LinkUser) {
    this.#socket = socket;
    this.#user = user;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('error', (error) => (this.#error ??= error));
    socket.on('close', () => this.#onClose());
    this.send([HELLO]);
  }

  /** Bytes that were sent and that the kernel has not taken yet. */
  get queuedBytes(): number {
    return this.#queuedBytes + this.#socket.writableLength;
  }

  /** Takes bytes that came before this end had the socket. */
  read(chunk: Buffer): void {
    if (this.#closed) return;
    try {
      const rest = this.#greeting === undefined ? chunk : this.#greet(chunk);
      if (rest !== undefined && rest.length > 0) this.#reader.push(rest, this.#onFrame);
    } catch (thrown) {
      this.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }

  send(chunks: readonly Uint8Array[]): void {
    if (this.#closed || this.#ending) return;
    for (const chunk of chunks) {
      this.#queue.push(chunk);
      this.#queuedBytes += chunk.length;
    }
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  /** Closes once everything that was sent has left. */
  end(): void {
    if (this.#closed || this.#ending) return;
    this.#flush();
    this.#ending = true;
    this.#socket.end();
  }

  /** Closes at once. */
  destroy(error?: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#closed || this.#queue.length === 0) return;
    const queue = this.#queue;
    const bytes = this.#queuedBytes;
    this.#queue = [];
    this.#queuedBytes = 0;
    if (queue.length === 1 || bytes < JOIN_BELOW_BYTES) {
      this.#socket.write(queue.length === 1 ? (queue[0] ?? HELLO) : Buffer.concat(queue, bytes));
      return;
    }
    this.#socket.cork();
    for (const chunk of queue) this.#socket.write(chunk);
    this.#socket.uncork();
  }

  /** What follows the other side's hello; undefined while that is not whole. */
  #greet(chunk: Buffer): Buffer | undefined {
    const seen = Buffer.concat([this.#greeting ?? Buffer.alloc(0), chunk]);
    const length = Math.min(seen.length, HELLO.length);
    if (!seen.subarray(0, length).equals(HELLO.subarray(0, length)))
      throw new AtollError('invalid-argument', 'the other side does not speak this link');
    if (length < HELLO.length) {
      this.#greeting = seen;
      return undefined;
    }
    this.#greeting = undefined;
    this.#user.greeted();
    return seen.subarray(HELLO.length);
  }

  #onClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#user.closed(this.#error);
  }
}
