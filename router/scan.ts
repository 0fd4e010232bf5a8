/**
 * Finds one string field in a gRPC request without decoding it (D11): for calls whose client sends no
 * `temporal-namespace` header. Skips from field to field; nothing is copied but the answer.
 */
import { constants, gunzipSync } from 'node:zlib';

export type Scan =
  | { readonly kind: 'found'; readonly value: string }
  /** The whole message is here and the field is not in it. */
  | { readonly kind: 'absent' }
  /** More of the request is needed. */
  | { readonly kind: 'more' }
  | { readonly kind: 'malformed'; readonly why: string };

const PREFIX_BYTES = 5;
const ABSENT: Scan = { kind: 'absent' };
const MORE: Scan = { kind: 'more' };

/**
 * @param body the request's bytes so far, from the 5-byte message prefix on
 * @param field number of the wanted field
 * @param options `ended`: there are no more bytes; `maxInflatedBytes`: bound of a compressed message
 */
export function scanRequest(
  body: Buffer,
  field: number,
  options: { readonly ended: boolean; readonly maxInflatedBytes: number },
): Scan {
  if (body.length < PREFIX_BYTES)
    return options.ended ? malformed('it ends before its first message') : MORE;
  const length = body.readUInt32BE(1);
  const whole = body.length >= PREFIX_BYTES + length;
  if (!whole && options.ended) return malformed('it ends within its first message');
  const message = body.subarray(PREFIX_BYTES, PREFIX_BYTES + length);
  if (body[0] === 0) return scanMessage(message, field, whole);
  if (!whole) return MORE;
  let inflated: Buffer;
  try {
    inflated = gunzipSync(message, {
      maxOutputLength: options.maxInflatedBytes,
      finishFlush: constants.Z_FINISH,
    });
  } catch (error) {
    return malformed(
      `it cannot be inflated (${error instanceof Error ? error.message : String(error)})`,
    );
  }
  return scanMessage(inflated, field, true);
}

/** Wire types: https://protobuf.dev/programming-guides/encoding/ */
function scanMessage(message: Buffer, field: number, whole: boolean): Scan {
  const cursor = { at: 0 };
  const cut = whole ? malformed('a field runs past its end') : MORE;
  while (cursor.at < message.length) {
    const tag = varint(message, cursor);
    if (tag === undefined) return cut;
    const type = tag & 7;
    let size: number | undefined;
    if (type === 2) size = varint(message, cursor);
    else if (type === 0) size = varint(message, cursor) === undefined ? undefined : 0;
    else if (type === 1) size = 8;
    else if (type === 5) size = 4;
    else return malformed(`it has a field of wire type ${type}`);
    if (size === undefined) return cut;
    const end = cursor.at + size;
    if (tag >>> 3 === field && type === 2) {
      return end > message.length
        ? cut
        : { kind: 'found', value: message.toString('utf8', cursor.at, end) };
    }
    if (end > message.length) return cut;
    cursor.at = end;
  }
  return whole ? ABSENT : MORE;
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
