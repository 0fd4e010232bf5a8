import proto from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import { messageType } from './proto.ts';

const shared = proto.temporal.api;
const HISTORY = messageType<{ events?: readonly Record<string, unknown>[] }>(
  'temporal.api.history.v1.History',
);
const PAYLOAD = messageType<{ metadata?: Record<string, Uint8Array>; data?: Uint8Array }>(
  'temporal.api.common.v1.Payload',
);
const FAILURE = messageType<Record<string, unknown>>('temporal.api.failure.v1.Failure');

describe('messages of the contract', () => {
  test('decode to plain objects that own what was on the wire, and nothing else', () => {
    const failure = FAILURE.decode(
      FAILURE.encode({ message: 'm', applicationFailureInfo: { type: 't' } }),
    );
    expect(failure.constructor).toBe(Object);
    expect(Object.keys(failure)).toEqual(['message', 'applicationFailureInfo']);
    expect(failure['cause']).toBeUndefined();
    expect(failure['stackTrace']).toBeUndefined();
    expect(JSON.stringify(failure)).toBe('{"message":"m","applicationFailureInfo":{"type":"t"}}');
  });

  test('a message with a map is as plain as the others', () => {
    const payload = PAYLOAD.decode(PAYLOAD.encode({ data: new Uint8Array([1]) }));
    expect(payload.constructor).toBe(Object);
    expect(Object.keys(payload)).toEqual(['data']);
    const metadata = { encoding: new Uint8Array([2]), ['__proto__x']: new Uint8Array([3]) };
    expect(PAYLOAD.decode(PAYLOAD.encode({ metadata }))).toEqual({ metadata });
  });

  test.each([
    0,
    1,
    -1,
    -24,
    127,
    128,
    2 ** 31,
    -(2 ** 31),
    2 ** 32 + 5,
    2 ** 53 - 1,
    -(2 ** 53) + 1,
  ])('the 64-bit integer %d is a number and itself again', (version) => {
    const bytes = HISTORY.encode({ events: [{ eventId: 1, version }] });
    expect(HISTORY.decode(bytes).events?.[0]?.['version'] ?? 0).toBe(version);
    const theirs = shared.history.v1.History.encode({
      events: [{ eventId: 1 as never, version: version as never }],
    });
    expect(Buffer.compare(bytes, theirs.finish())).toBe(0);
  });

  test('an optional or oneof member with its default value is kept', () => {
    const options = messageType<object>(
      'temporal.api.workflowservice.v1.UpdateActivityOptionsRequest',
    );
    expect(options.decode(options.encode({ matchAll: false }))).toEqual({ matchAll: false });
    const outcome = messageType<object>('temporal.api.update.v1.Outcome');
    expect(outcome.decode(outcome.encode({ success: {} }))).toEqual({ success: {} });
  });

  test('decode gives views onto the input, decodeCopy does not', () => {
    const bytes = PAYLOAD.encode({ data: new Uint8Array([7]) });
    const view = PAYLOAD.decode(bytes);
    const copy = PAYLOAD.decodeCopy(bytes);
    bytes.fill(9);
    expect(view.data).toEqual(new Uint8Array([9]));
    expect(copy.data).toEqual(new Uint8Array([7]));
    expect(copy.data?.buffer.byteLength).toBe(1);
  });

  test('fields that this release does not know are dropped', () => {
    const unknown = Buffer.from([0xfa, 0x7f, 2, 1, 2]);
    expect(
      PAYLOAD.decode(Buffer.concat([unknown, PAYLOAD.encode({ data: new Uint8Array([1]) })])),
    ).toEqual({
      data: new Uint8Array([1]),
    });
  });

  test.each([
    ['a length that runs past the end', [10, 200]],
    ['an integer without an end', [10, 2, 8, 255]],
    ['a wire type that does not exist', [0x0f]],
    ['bytes past the end', [10, 3, 18, 50, 1]],
  ])('%s is an invalid argument', (_name, bytes) => {
    expect(() => HISTORY.decode(Uint8Array.from(bytes))).toThrow(/^malformed History/);
    expect(() => HISTORY.decode(Uint8Array.from(bytes))).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }) as Error,
    );
  });

  test("the official SDK's own descriptors are left alone", () => {
    PAYLOAD.decode(new Uint8Array());
    const theirs = shared.history.v1.HistoryEvent.decode(new Uint8Array([8, 5]));
    expect(theirs.eventId.toNumber()).toBe(5);
    expect(theirs.version.toNumber()).toBe(0);
    expect(theirs.constructor).not.toBe(Object);
  });
});
