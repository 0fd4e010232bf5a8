import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { METHODS } from '../wire/services.ts';
import { routesOfContract } from './methods.ts';
import { scanRequest, type Scan } from './scan.ts';

const MIB = 1024 * 1024;

describe('the namespace in a request', () => {
  const routes = [...routesOfContract()].flatMap(([path, route]) =>
    route.kind === 'namespaced' ? [{ path, field: route.field }] : [],
  );

  it.each(routes)('is found in $path, field $field', ({ path, field }) => {
    const bytes = METHODS.get(path)?.request.encode({ namespace: 'orders' }) ?? new Uint8Array();
    expect(scan(framed(bytes), field)).toEqual({ kind: 'found', value: 'orders' });
  });

  it('is found behind fields of every wire type, and only at its own number', () => {
    const varint = [0x08, 0xff, 0x7f];
    const fixed64 = [0x11, 1, 2, 3, 4, 5, 6, 7, 8];
    const fixed32 = [0x1d, 1, 2, 3, 4];
    const decoy = [0x2a, 3, 0x4a, 1, 0x78];
    const wanted = [0x4a, 4, 0x6e, 0xc3, 0xa9, 0x21];
    const bytes = Buffer.from([...varint, ...fixed64, ...fixed32, ...decoy, ...wanted]);
    expect(scan(framed(bytes), 9)).toEqual({ kind: 'found', value: 'né!' });
    expect(scan(framed(bytes), 7)).toEqual({ kind: 'absent' });
  });

  it('is not found in what was cut off, at any cut', () => {
    const whole = framed(Buffer.from([0x0a, 2, 0x61, 0x62, 0x12, 3, 0x78, 0x79, 0x7a]));
    for (let cut = 0; cut < whole.length; cut++)
      expect(scan(whole.subarray(0, cut), 2).kind).toBe('malformed');
    expect(scan(whole, 2)).toEqual({ kind: 'found', value: 'xyz' });
  });

  it('is found in a gzipped request', () => {
    const zipped = framed(gzipSync(Buffer.from([0x0a, 1, 0x61])), 1);
    expect(scan(zipped, 1)).toEqual({ kind: 'found', value: 'a' });
  });
});

describe('a request that is no message', () => {
  const rows: readonly [string, Buffer, RegExp][] = [
    ['is empty', Buffer.alloc(0), /before its first message/],
    ['has a field of wire type 3', framed(Buffer.from([0x0b])), /wire type 3/],
    ['has a field longer than itself', framed(Buffer.from([0x12, 0x7f, 1])), /past its end/],
    ['has a varint without end', framed(Buffer.alloc(12, 0xff)), /past its end/],
    ['is not gzip', framed(Buffer.from('nope'), 1), /inflated/],
    ['inflates beyond the bound', framed(gzipSync(Buffer.alloc(2 * MIB)), 1), /inflated/],
  ];
  it.each(rows)('%s', (_, body, why) => {
    expect(scan(body, 1)).toMatchObject({ kind: 'malformed', why: expect.stringMatching(why) });
  });
});

function scan(body: Buffer, field: number): Scan {
  return scanRequest(body, field, MIB);
}

function framed(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.from([flag, 0, 0, 0, 0]);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
