import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { encodingOf, frame, unframe } from './frame.ts';

const MAX = 1000;
const join = (chunks: readonly Uint8Array[]) => Buffer.concat(chunks);
const code = (expected: string) => expect.objectContaining({ code: expected }) as Error;

function packed(message: Uint8Array): Buffer {
  const body = gzipSync(message);
  const header = Buffer.alloc(5);
  header[0] = 1;
  header.writeUInt32BE(body.length, 1);
  return Buffer.concat([header, body]);
}

describe('frames', () => {
  test.each([0, 1, 1000])('a message of %d bytes comes back', (size) => {
    const message = new Uint8Array(size).fill(3);
    expect(unframe(frame(message), 'identity', MAX)).toEqual(Buffer.from(message));
  });

  test('chunks become one message, whatever the pieces it arrives in', () => {
    const bytes = join(frame([new Uint8Array([1]), new Uint8Array([2, 3])]));
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    expect([...unframe(pieces, 'identity', MAX)]).toEqual([1, 2, 3]);
  });

  test('large chunks are not copied', () => {
    const chunk = new Uint8Array(100_000);
    expect(frame([chunk])[1]).toBe(chunk);
  });

  test('a compressed message is unpacked', () => {
    expect([...unframe([packed(new Uint8Array([1, 2]))], 'gzip', MAX)]).toEqual([1, 2]);
  });

  test.each([
    ['nothing', Buffer.alloc(0), 'identity', 'invalid-argument'],
    ['half a header', Buffer.alloc(4), 'identity', 'invalid-argument'],
    ['less than announced', Buffer.from([0, 0, 0, 0, 9, 1]), 'identity', 'invalid-argument'],
    ['more than announced', Buffer.from([0, 0, 0, 0, 1, 1, 1]), 'identity', 'invalid-argument'],
    [
      'a message over the limit',
      join(frame(new Uint8Array(1001))),
      'identity',
      'resource-exhausted',
    ],
    [
      'a message that unpacks over the limit',
      packed(new Uint8Array(1001)),
      'gzip',
      'resource-exhausted',
    ],
    ['compression that no header names', packed(new Uint8Array(1)), 'identity', 'invalid-argument'],
    ['what does not unpack', Buffer.from([1, 0, 0, 0, 1, 1]), 'gzip', 'invalid-argument'],
    ['a flag that does not exist', Buffer.from([2, 0, 0, 0, 1, 1]), 'gzip', 'invalid-argument'],
  ] as const)('%s is refused', (_name, bytes, encoding, expected) => {
    expect(() => unframe([bytes], encoding, MAX)).toThrow(code(expected));
  });

  test.each([
    [undefined, 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['deflate', undefined],
  ])('grpc-encoding %j is %j', (header, encoding) => {
    expect(encodingOf(header)).toBe(encoding);
  });
});
