/**
 * The frame round a gRPC message: one flag byte (1 = compressed), four bytes of length, the message.
 * Place: between HTTP/2 data and the message bytes, on both ends. Unary calls have one frame each way.
 *
 * Invariants
 *  1. Nothing above the limit is ever held decompressed: gunzip stops at the limit.
 *  2. The message is a view of its chunk where one chunk holds it whole; otherwise the one copy that joins chunks.
 */
import { gunzipSync } from 'node:zlib';
import { AtollError } from '../errors.ts';

export const FRAME_HEADER_BYTES = 5;
/** The largest message that a call may carry unless its owner says otherwise. */
export const DEFAULT_MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/** Below this it is cheaper to copy chunks together than to write them apart. */
const JOIN_BELOW_BYTES = 32 * 1024;

/** Encodings that a peer may name in `grpc-encoding`. */
export type Encoding = 'identity' | 'gzip';

/** The encoding a header names, or undefined for one that we do not speak. */
export function encodingOf(header: string | undefined): Encoding | undefined {
  if (header === undefined || header === 'identity') return 'identity';
  return header === 'gzip' ? 'gzip' : undefined;
}

/** One frame: its header and chunks in order, joined where that is cheaper. */
export function frame(message: Uint8Array | readonly Uint8Array[]): readonly Uint8Array[] {
  const chunks = message instanceof Uint8Array ? [message] : message;
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES + (length < JOIN_BELOW_BYTES ? length : 0));
  header[0] = 0;
  header.writeUInt32BE(length, 1);
  if (length >= JOIN_BELOW_BYTES) return [header, ...chunks];
  let at = FRAME_HEADER_BYTES;
  for (const chunk of chunks) {
    header.set(chunk, at);
    at += chunk.length;
  }
  return [header];
}

/**
 * The message of a unary call's whole data.
 * @throws AtollError `resource-exhausted` above `maxBytes`, `invalid-argument` when it is not exactly one frame
 */
export function unframe(
  data: readonly Uint8Array[],
  encoding: Encoding,
  maxBytes: number,
): Uint8Array {
  const [first] = data;
  const whole = data.length === 1 && first !== undefined ? first : Buffer.concat(data);
  if (whole.length < FRAME_HEADER_BYTES) {
    throw new AtollError(
      'invalid-argument',
      `a unary call needs one gRPC frame; ${whole.length} bytes came`,
    );
  }
  const length = new DataView(whole.buffer, whole.byteOffset).getUint32(1);
  if (length > maxBytes) throw tooLarge(length, maxBytes);
  if (whole.length !== FRAME_HEADER_BYTES + length) {
    const came = whole.length - FRAME_HEADER_BYTES;
    throw new AtollError(
      'invalid-argument',
      `the gRPC frame announces ${length} bytes, but ${came} came`,
    );
  }
  const message = whole.subarray(FRAME_HEADER_BYTES);
  if (whole[0] === 0) return message;
  if (whole[0] !== 1 || encoding !== 'gzip') {
    throw new AtollError(
      'invalid-argument',
      'the gRPC frame is compressed, but grpc-encoding names no compression',
    );
  }
  return gunzip(message, maxBytes);
}

/** The error of a message over its limit; both ends use it. */
export function tooLarge(bytes: number, maxBytes: number): AtollError {
  return new AtollError(
    'resource-exhausted',
    `a message of ${bytes} bytes is over the limit of ${maxBytes} bytes`,
  );
}

function gunzip(message: Uint8Array, maxBytes: number): Uint8Array {
  try {
    return gunzipSync(message, { maxOutputLength: maxBytes });
  } catch (thrown) {
    if (thrown instanceof RangeError) throw tooLarge(maxBytes + 1, maxBytes);
    throw new AtollError('invalid-argument', 'the gRPC frame does not gunzip', { cause: thrown });
  }
}
