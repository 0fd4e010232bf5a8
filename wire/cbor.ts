/**
 * Canonical CBOR of plain data: for tokens, log records and state rows. The one door to `cbor-x`.
 *
 * Invariants
 *  1. Equal values give equal bytes, whatever order their fields were set in: keys are sorted by UTF-16 code
 *     units. Fields that are undefined are left out, so a field that was unset again leaves no trace.
 *  2. What is decoded is plain and owns its bytes: objects, arrays, numbers, strings, booleans, null, Uint8Array.
 *  3. Only plain data is encoded; a Map, a Date, a class instance is a bug of ours.
 */
import { Decoder, Encoder } from 'cbor-x';
import { AtollError } from '../kernel/errors.ts';
import { invariant } from '../kernel/invariant.ts';

const OPTIONS = {
  useRecords: false,
  mapsAsObjects: true,
  tagUint8Array: false,
  variableMapSize: true,
  copyBuffers: true,
};
const encoder = new Encoder(OPTIONS);
const decoder = new Decoder(OPTIONS);

/** The value as canonical CBOR. */
export function encodeCbor(value: unknown): Uint8Array {
  const bytes = encoder.encode(canonical(value));
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** @throws AtollError `data-loss` for bytes that are not CBOR: callers read only what they wrote */
export function decodeCbor(bytes: Uint8Array): unknown {
  try {
    return decoder.decode(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length));
  } catch (cause) {
    throw new AtollError('data-loss', 'stored bytes do not decode as CBOR', { cause });
  }
}

/** The value with sorted keys and without undefined fields. An array that has no objects stays as it is. */
function canonical(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return canonicalArray(value);
  invariant(
    value.constructor === Object,
    `cannot encode a ${value.constructor?.name ?? 'bare object'} as CBOR`,
  );
  const fields = value as Readonly<Record<string, unknown>>;
  const sorted: Record<string, unknown> = {};
  for (const key of sortedKeys(fields)) {
    const field = fields[key];
    if (field !== undefined) sorted[key] = canonical(field);
  }
  return sorted;
}

function canonicalArray(values: readonly unknown[]): readonly unknown[] {
  const changed = values.some((value) => typeof value === 'object' && value !== null);
  return changed ? values.map(canonical) : values;
}

const FEW_KEYS = 24;

/** By UTF-16 code units. Few keys are put in order by hand: the library's sort costs more than all the rest here. */
function sortedKeys(fields: Readonly<Record<string, unknown>>): readonly string[] {
  const keys = Object.keys(fields);
  if (keys.length > FEW_KEYS) return keys.sort();
  for (let i = 1; i < keys.length; i += 1) {
    const key = keys[i] ?? '';
    let place = i;
    for (let before = keys[place - 1]; before !== undefined && before > key;) {
      keys[place] = before;
      place -= 1;
      before = keys[place - 1];
    }
    keys[place] = key;
  }
  return keys;
}
