/** Frames against any way in which a socket may cut them. */
import { describe, expect, it, test } from 'vitest';
import { SeededRng } from '../testing/seeded-rng.ts';
import {
  decodeHead,
  encodeFrame,
  encodeHead,
  FRAME,
  FrameReader,
  MAX_FRAME_BYTES,
  type Frame,
} from './frames.ts';

const SEEDS = 200;

test('frames come back as they were sent, however the bytes are cut', () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const rng = new SeededRng(seed);
    const below = (bound: number) => Math.floor(rng.fraction() * bound);
    const sent = Array.from({ length: 1 + below(12) }, (_, i) => ({
      kind: FRAME.call,
      call: i + 1,
      head: 'x'.repeat(below(40)),
      body: Buffer.from(rng.bytes(below(below(8) === 0 ? 50_000 : 300))),
    }));
    const bytes = Buffer.concat(
      sent.flatMap(({ kind, call, head, body }) =>
        encodeFrame(kind, call, head, [body.subarray(0, 7), body.subarray(7)]),
      ),
    );
    const seen: Frame[] = [];
    const reader = new FrameReader();
    for (let at = 0; at < bytes.length;) {
      const cut = at + 1 + below(below(3) === 0 ? 30 : 9_000);
      reader.push(bytes.subarray(at, cut), (frame) => seen.push(frame));
      at = cut;
    }
    expect(seen.map(plain), `seed ${seed}`).toEqual(sent.map(plain));
  }
});

/** With the body as text: two texts are compared at once, two buffers byte by byte. */
function plain({ body, ...rest }: Frame) {
  return { ...rest, body: body.toString('latin1') };
}

describe('a head', () => {
  it('keeps names, values and their bytes, behind its first line or without one', () => {
    const headers = { 'x-text': 'one, two', 'x-bytes': 'caf\u00e9 \u00ff', 'x-empty': '' };
    const lines = encodeHead({ ...headers, none: undefined, both: ['a', 'b'] }, '/s/m').split('\n');
    expect(lines[0]).toBe('/s/m');
    expect(decodeHead(lines, 1)).toEqual({ ...headers, both: 'a, b' });
    expect(decodeHead(encodeHead(headers).split('\n'))).toEqual(headers);
  });

  it('takes no line feed, by which a value could become another header', () => {
    expect(() => encodeHead({ a: 'b\natoll-epoch\n9' })).toThrow(/line feed/);
  });

  it('gives names that objects inherit no meaning', () => {
    expect(Object.keys(decodeHead(['__proto__', 'x', 'constructor', 'y']))).toEqual([
      '__proto__',
      'constructor',
    ]);
  });
});

describe('bytes that are no frames', () => {
  const rows: readonly [string, Buffer][] = [
    ['a length below its fixed part', length(8)],
    ['a length above the bound', length(MAX_FRAME_BYTES + 1)],
    ['a head longer than the frame', headBeyond()],
  ];
  it.each(rows)('are refused: %s', (_, bytes) => {
    const reader = new FrameReader();
    expect(() => reader.push(bytes, () => {})).toThrow(/frame/);
  });
});

function length(bytes: number): Buffer {
  const field = Buffer.alloc(16);
  field.writeUInt32BE(bytes);
  return field;
}

function headBeyond(): Buffer {
  const [frame] = encodeFrame(FRAME.call, 1, 'head');
  const bytes = Buffer.from(frame ?? []);
  bytes.writeUInt32BE(5, 9);
  return bytes;
}
