import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeCbor, encodeCbor } from './cbor.ts';

describe('canonical CBOR', () => {
  test.each([
    [null],
    [true],
    [0],
    [-1],
    [1.5],
    [2 ** 53 - 1],
    [-(2 ** 53) + 1],
    ['ü🌊'],
    [[1, [2], {}]],
    [{ a: { b: [new Uint8Array([1, 2])] } }],
  ])('%j comes back', (value) => {
    expect(decodeCbor(encodeCbor(value))).toEqual(value);
  });

  test('the order of fields and fields that are undefined leave no trace', () => {
    const one = encodeCbor({ b: 1, a: { y: 2, x: undefined } });
    const other = encodeCbor({ a: { y: 2 }, c: undefined, b: 1 });
    expect(one).toEqual(other);
  });

  test('any plain value encodes to the same bytes after a round trip', () => {
    const plain = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(plain, (value) => {
        const bytes = encodeCbor(value);
        expect(encodeCbor(decodeCbor(bytes))).toEqual(bytes);
      }),
      { seed: 7 },
    );
  });

  test('decoded bytes are copies', () => {
    const bytes = encodeCbor({ data: new Uint8Array([7]) });
    const { data } = decodeCbor(bytes) as { data: Uint8Array };
    bytes.fill(0);
    expect(data).toEqual(new Uint8Array([7]));
  });

  test('an earlier result is not overwritten by a later one', () => {
    const first = encodeCbor({ a: 'x'.repeat(100) });
    const copy = first.slice();
    for (let i = 0; i < 1000; i++) encodeCbor({ a: 'y'.repeat(100) });
    expect(first).toEqual(copy);
  });

  test('what is not plain data is a bug', () => {
    expect(() => encodeCbor({ m: new Map() })).toThrow('cannot encode a Map as CBOR');
  });

  test('bytes that are no CBOR are lost data', () => {
    const read = () => decodeCbor(new Uint8Array([0x5a, 0xff, 0xff, 0xff, 0xff]));
    expect(read).toThrow(expect.objectContaining({ code: 'data-loss' }) as Error);
  });
});

const LETTERS = ['z', 'é', '𝒳', 'a', 'B'];

test('keys are sorted by UTF-16 code units, few of them and many', () => {
  for (const count of [2, 3, 9, 24, 25, 60]) {
    const names = Array.from(
      { length: count },
      (_, i) => `${LETTERS[(i * 3) % 5]}${(i * 37) % 61}`,
    );
    const fields = Object.fromEntries(names.map((name, i) => [name, i]));
    const sorted = Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
    const bytes = encodeCbor(fields);
    expect(Object.keys(decodeCbor(bytes) as object)).toEqual(Object.keys(sorted));
    expect(encodeCbor(sorted)).toEqual(bytes);
  }
});
