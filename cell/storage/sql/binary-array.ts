/**
 * PostgreSQL arrays in the binary form of the wire protocol.
 *
 * Place: every statement over many rows passes its columns as arrays. The driver writes a JavaScript array as text,
 * and bytes in it as hexadecimal, which costs two and a half times as much as this.
 *
 * Invariants
 *  1. The element type is that of the parameter's cast; the server refuses another one.
 *  2. No element is null.
 */
import { invariant } from '../../../kernel/invariant.ts';

const OID = { bool: 16, bytea: 17, int8: 20, int4: 23, text: 25, uuid: 2950 } as const;
const HEADER_BYTES = 20;
const EMPTY_HEADER_BYTES = 12;

/** One dimension, no nulls, indexes from 1. */
function writeHeader(target: Buffer, elementOid: number, count: number): void {
  target.writeInt32BE(count === 0 ? 0 : 1, 0);
  target.writeInt32BE(0, 4);
  target.writeInt32BE(elementOid, 8);
  if (count === 0) return;
  target.writeInt32BE(count, 12);
  target.writeInt32BE(1, 16);
}

type Fixed = {
  readonly oid: number;
  readonly size: number;
  readonly count: number;
  readonly write: (target: Buffer, index: number, offset: number) => void;
};

function fixedSize({ oid, size, count, write }: Fixed): Buffer {
  const target = Buffer.allocUnsafe(
    count === 0 ? EMPTY_HEADER_BYTES : HEADER_BYTES + count * (4 + size),
  );
  writeHeader(target, oid, count);
  for (let index = 0, offset = HEADER_BYTES; index < count; index += 1, offset += 4 + size) {
    target.writeInt32BE(size, offset);
    write(target, index, offset + 4);
  }
  return target;
}

/** `int4[]` */
export function int4Array(values: readonly number[]): Buffer {
  return fixedSize({
    oid: OID.int4,
    size: 4,
    count: values.length,
    write: (target, index, offset) => target.writeInt32BE(values[index] ?? 0, offset),
  });
}

/** `int8[]`, for safe integers. */
export function int8Array(values: readonly number[]): Buffer {
  return fixedSize({
    oid: OID.int8,
    size: 8,
    count: values.length,
    write(target, index, offset) {
      const value = values[index] ?? 0;
      invariant(Number.isSafeInteger(value), `int8 element ${value} is not a safe integer`);
      target.writeInt32BE(Math.floor(value / 2 ** 32), offset);
      target.writeUInt32BE(value >>> 0, offset + 4);
    },
  });
}

/** `bool[]` */
export function boolArray(values: readonly boolean[]): Buffer {
  return fixedSize({
    oid: OID.bool,
    size: 1,
    count: values.length,
    write: (target, index, offset) => target.writeUInt8(values[index] ? 1 : 0, offset),
  });
}

/** `uuid[]`, from the text form or from 16 bytes. */
export function uuidArray(values: readonly (string | Uint8Array)[]): Buffer {
  return fixedSize({
    oid: OID.uuid,
    size: 16,
    count: values.length,
    write(target, index, offset) {
      const value = values[index] ?? '';
      if (typeof value !== 'string') {
        invariant(value.length === 16, `a uuid of ${value.length} bytes`);
        target.set(value, offset);
        return;
      }
      const written = target.write(value.replaceAll('-', ''), offset, 16, 'hex');
      invariant(written === 16 && value.length === 36, `"${value}" is not a uuid`);
    },
  });
}

/** `bytea[]` */
export function byteaArray(values: readonly Uint8Array[]): Buffer {
  let bytes = 0;
  for (const value of values) bytes += 4 + value.length;
  const target = Buffer.allocUnsafe(
    values.length === 0 ? EMPTY_HEADER_BYTES : HEADER_BYTES + bytes,
  );
  writeHeader(target, OID.bytea, values.length);
  let offset = HEADER_BYTES;
  for (const value of values) {
    offset = target.writeInt32BE(value.length, offset);
    target.set(value, offset);
    offset += value.length;
  }
  return target;
}

/** `text[]`; a NUL cannot be stored in PostgreSQL and is refused at the edge. */
export function textArray(values: readonly string[]): Buffer {
  let bytes = 0;
  for (const value of values) bytes += 4 + Buffer.byteLength(value);
  const target = Buffer.allocUnsafe(
    values.length === 0 ? EMPTY_HEADER_BYTES : HEADER_BYTES + bytes,
  );
  writeHeader(target, OID.text, values.length);
  let offset = HEADER_BYTES;
  for (const value of values) {
    const length = target.write(value, offset + 4);
    target.writeInt32BE(length, offset);
    offset += 4 + length;
  }
  return target;
}
