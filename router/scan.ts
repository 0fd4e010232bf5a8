/**
 * Finds one string field in a gRPC request without decoding it (D11): for calls whose client sends no
 * `temporal-namespace` header. Skips from field to field; nothing is copied but the answer.
 */
import { constants, gunzipSync } from 'node:zlib';

export type Scan =
  | { readonly kind: 'found'; readonly value: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed'; readonly why: string };

const PREFIX_BYTES = 5;
const CUT = 'a field runs past its end';
const ABSENT: Scan = { kind: 'absent' };

/**
 * @param body the whole request, from the 5-byte message prefix on
 * @param field number of the wanted field
 * @param maxInflatedBytes bound of a compressed message
 */
export function scanRequest(body: Buffer, field: number, maxInflatedBytes: number): Scan {
  if (body.length < PREFIX_BYTES) return malformed('it ends before its first message');
  const end = PREFIX_BYTES + body.readUInt32BE(1);
  if (body.length < end) return malformed('it ends within its first message');
  const message = body.subarray(PREFIX_BYTES, end);
  if (body[0] === 0) return scanMessage(message, field);
  const options = { maxOutputLength: maxInflatedBytes, finishFlush: constants.Z_FINISH };
  let inflated: Buffer;
  try {
    inflated = gunzipSync(message, options);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return malformed(`it cannot be inflated (${why})`);
  }
  return scanMessage(inflated, field);
}

/** Wire types: https://protobuf.dev/programming-guides/encoding/ */
function scanMessage(message: Buffer, field: number): Scan {
  const cursor = { at: 0 };
  while (cursor.at < message.length) {
    const tag = varint(message, cursor);
    if (tag === undefined) return malformed(CUT);
    const type = tag & 7;
    let size: number | undefined;
    if (type === 2) size = varint(message, cursor);
    else if (type === 0) size = varint(message, cursor) === undefined ? undefined : 0;
    else if (type === 1) size = 8;
    else if (type === 5) size = 4;
    else return malformed(`it has a field of wire type ${type}`);
    if (size === undefined) return malformed(CUT);
    const end = cursor.at + size;
    if (tag >>> 3 === field && type === 2) {
      return end > message.length
        ? malformed(CUT)
        : { kind: 'found', value: message.toString('utf8', cursor.at, end) };
    }
    if (end > message.length) return malformed(CUT);
    cursor.at = end;
  }
  return ABSENT;
}

/** An unsigned varint (exact up to 2^53), or undefined if the bytes end within it or it has more than ten. */
function varint(bytes: Buffer, cursor: { at: number }): number | undefined {
  let value = 0;
  let scale = 1;
  for (let i = 0; i < 10; i++) {
    const byte = bytes[cursor.at];
    if (byte === undefined) return undefined;
    cursor.at += 1;
    value += (byte & 127) * scale;
    if (byte < 128) return value;
    scale *= 128;
  }
  return undefined;
}

function malformed(why: string): Scan {
  return { kind: 'malformed', why };
}
