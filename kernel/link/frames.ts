/**
 * The frames of a link, as bytes and back (link-socket.ts moves them). One form for all of them:
 *
 *     u32 bytes that follow · u8 kind · u32 call · u32 bytes of head · head (latin1) · body
 *
 * Numbers are big-endian. A head is lines joined by a line feed, which no HTTP header may hold: a call's path, then names
 * and values in turn. A body is a gRPC message with its own frame (rpc/frame.ts), as the client sent it.
 *
 * Invariants
 *  1. Reading is linear in the bytes: what is incomplete is joined once, when all of it is here.
 *  2. A frame above `MAX_FRAME_BYTES`, or one that contradicts itself, ends the link: from there on nothing has a meaning.
 */
import { AtollError } from '../errors.ts';
import { invariant } from '../invariant.ts';

/** Both sides open with it, so that neither takes another protocol for a link. */
export const HELLO = Buffer.from('ATOLL-LINK 1\n', 'latin1');

/** The largest frame: far above any message that a server takes. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** What a frame is. Pings are asked by who connected; a link that goes away takes no new calls. */
export const FRAME = { call: 1, cancel: 2, ping: 3, pong: 4, reply: 5, goAway: 6 } as const;
export type FrameKind = (typeof FRAME)[keyof typeof FRAME];

export type Frame = {
  readonly kind: number;
  /** The call it belongs to; 0 where it belongs to none. */
  readonly call: number;
  readonly head: string;
  /** A view of the bytes that were read: copy it before keeping it long. */
  readonly body: Buffer;
};

const LENGTH_BYTES = 4;
const FIXED_BYTES = 9;
/** Below this it is cheaper to copy a body behind its head than to write it apart. */
const JOIN_BELOW_BYTES = 32 * 1024;
const NOTHING: readonly Uint8Array[] = [];

/** One frame: a single chunk where it is short. */
export function encodeFrame(
  kind: FrameKind,
  call: number,
  head = '',
  body: readonly Uint8Array[] = NOTHING,
): readonly Uint8Array[] {
  let bodyBytes = 0;
  for (const chunk of body) bodyBytes += chunk.length;
  const joins = bodyBytes < JOIN_BELOW_BYTES;
  const start = LENGTH_BYTES + FIXED_BYTES + head.length;
  const first = Buffer.allocUnsafe(start + (joins ? bodyBytes : 0));
  first.writeUInt32BE(FIXED_BYTES + head.length + bodyBytes, 0);
  first[4] = kind;
  first.writeUInt32BE(call, 5);
  first.writeUInt32BE(head.length, 9);
  first.write(head, LENGTH_BYTES + FIXED_BYTES, 'latin1');
  if (!joins) return [first, ...body];
  let at = start;
  for (const chunk of body) {
    first.set(chunk, at);
    at += chunk.length;
  }
  return [first];
}

/** Names and values as the lines of a head, behind `first` if there is one. */
export function encodeHead(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  first?: string,
): string {
  let head = first ?? '';
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    invariant(!text.includes('\n'), `header ${name} has a line feed`);
    head += head === '' ? `${name}\n${text}` : `\n${name}\n${text}`;
  }
  return head;
}

/** The names and values of a head, from line `from` on. */
export function decodeHead(lines: readonly string[], from = 0): Record<string, string> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (let i = from; i + 1 < lines.length; i += 2) headers[lines[i] ?? ''] = lines[i + 1] ?? '';
  return headers;
}

/** Cuts what a socket gives into frames. */
export class FrameReader {
  #held: Buffer[] = [];
  #heldBytes = 0;
  #needBytes = LENGTH_BYTES;

  /**
   * The frames that are whole with this chunk, in order.
   * @throws AtollError `invalid-argument` when the bytes are no frames
   */
  push(chunk: Buffer, onFrame: (frame: Frame) => void): void {
    const bytes = this.#withHeld(chunk);
    if (bytes === undefined) return;
    let at = 0;
    for (;;) {
      const left = bytes.length - at;
      this.#needBytes = left < LENGTH_BYTES ? LENGTH_BYTES : wholeBytes(bytes, at);
      if (left < this.#needBytes) break;
      onFrame(frameAt(bytes, at, this.#needBytes));
      at += this.#needBytes;
    }
    if (at === bytes.length) return;
    this.#held.push(at === 0 ? bytes : bytes.subarray(at));
    this.#heldBytes = bytes.length - at;
  }

  /** What was held and this chunk, joined; undefined while that is not a frame yet. */
  #withHeld(chunk: Buffer): Buffer | undefined {
    if (this.#heldBytes === 0) return chunk;
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes < this.#needBytes) return undefined;
    const joined = Buffer.concat(this.#held, this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    return joined;
  }
}

/** The length of the frame that begins there, its length field included. */
function wholeBytes(bytes: Buffer, at: number): number {
  const length = bytes.readUInt32BE(at);
  if (length < FIXED_BYTES || length > MAX_FRAME_BYTES)
    throw new AtollError('invalid-argument', `a frame of ${length} bytes is none of a link`);
  return LENGTH_BYTES + length;
}

function frameAt(bytes: Buffer, at: number, length: number): Frame {
  const headAt = at + LENGTH_BYTES + FIXED_BYTES;
  const headBytes = bytes.readUInt32BE(at + 9);
  const end = at + length;
  if (headAt + headBytes > end)
    throw new AtollError('invalid-argument', 'the head of a frame runs past its end');
  return {
    kind: bytes.readUInt8(at + 4),
    call: bytes.readUInt32BE(at + 5),
    head: bytes.toString('latin1', headAt, headAt + headBytes),
    body: bytes.subarray(headAt + headBytes, end),
  };
}
