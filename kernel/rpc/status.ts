/**
 * The outcome of a call as headers: `grpc-status`, `grpc-message`, `grpc-status-details-bin`.
 * Place: both ends of a call. What the details mean is the caller's matter: here they are bytes.
 *
 * Invariants
 *  1. The headers made here stay under 12 KB, within the 16 KB that clients accept: a message is cut, details that
 *     do not fit are left out.
 *  2. A status number has one error code (kernel/errors.ts); numbers without one are `internal` and keep the number in
 *     their detail.
 */
import { AtollError, GRPC_STATUS, type ErrorCode } from '../errors.ts';

const MAX_MESSAGE_CHARS = 2_000;
const MAX_ENCODED_MESSAGE_CHARS = 4_000;
/** The most bytes of details that travel (8 KB as base64). */
export const MAX_DETAILS_BYTES = 6_000;

const CODE_BY_STATUS = new Map<number, ErrorCode>(
  Object.entries(GRPC_STATUS).map(([code, status]) => [status, code as ErrorCode]),
);

/** The type of the detail that an error from a peer carries: `{ status: number, details?: Uint8Array }`. */
export const RPC_STATUS_DETAIL = 'rpc-status';

export type StatusHeaders = Readonly<Record<string, string>>;

/** The headers that tell a peer of this error. */
export function statusHeaders(error: AtollError, details?: Uint8Array): StatusHeaders {
  const headers: Record<string, string> = {
    ...error.trailers,
    'grpc-status': String(GRPC_STATUS[error.code]),
    'grpc-message': encodeMessage(error.message),
  };
  if (details !== undefined && details.length <= MAX_DETAILS_BYTES) {
    headers['grpc-status-details-bin'] = toBase64(details);
  }
  return headers;
}

/** The error that a peer's headers or trailers tell of, or undefined for success. */
export function errorOf(headers: Readonly<Record<string, unknown>>): AtollError | undefined {
  const status = Number(headers['grpc-status']);
  if (status === 0) return undefined;
  const text = headers['grpc-message'];
  const message = typeof text === 'string' ? decodeMessage(text) : '';
  const bin = headers['grpc-status-details-bin'];
  const value = { status, ...(typeof bin === 'string' && { details: fromBase64(bin) }) };
  return new AtollError(
    CODE_BY_STATUS.get(status) ?? 'internal',
    message || `gRPC status ${status}`,
    {
      detail: { type: RPC_STATUS_DETAIL, value },
    },
  );
}

/** Percent-encodes what a header may not hold: everything but printable ASCII, and `%` itself. */
export function encodeMessage(message: string): string {
  let text = message.length > MAX_MESSAGE_CHARS ? `${cut(message, MAX_MESSAGE_CHARS)}…` : message;
  let encoded = percentEncode(text);
  while (encoded.length > MAX_ENCODED_MESSAGE_CHARS) {
    text = `${cut(text, Math.floor(text.length / 2))}…`;
    encoded = percentEncode(text);
  }
  return encoded;
}

/** The inverse of encodeMessage; a malformed escape is left as it came. */
export function decodeMessage(header: string): string {
  if (!header.includes('%')) return header;
  try {
    return decodeURIComponent(header);
  } catch {
    return header;
  }
}

/** The start of a text, without half a surrogate pair at its end. */
function cut(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}

function percentEncode(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]/gu, (char) =>
    // Half a surrogate pair has no UTF-8 form; it becomes the replacement character.
    /^[\uD800-\uDFFF]$/.test(char) ? '%EF%BF%BD' : encodeURIComponent(char),
  );
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString('base64')
    .replace(/=+$/, '');
}

function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}
