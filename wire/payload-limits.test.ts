import { describe, expect, test } from 'vitest';
import * as limits from './payload-limits.ts';

const payload = (bytes: number) => ({
  metadata: { encoding: new Uint8Array(4) },
  data: new Uint8Array(bytes),
});

describe('payload sizes', () => {
  test('count data, metadata and names', () => {
    expect(limits.payloadBytes(payload(100))).toBe(112);
    expect(limits.payloadsBytes({ payloads: [payload(1), payload(2)] })).toBe(27);
    expect(limits.fieldsBytes({ fields: { name: payload(1) } })).toBe(17);
    expect(limits.fieldsBytes({ indexedFields: { name: payload(1) } })).toBe(17);
    expect(limits.fieldsBytes(undefined)).toBe(0);
    const cause = {
      message: 'abc',
      applicationFailureInfo: { details: { payloads: [payload(1)] } },
    };
    expect(limits.failureBytes({ message: 'ab', stackTrace: 'x', cause })).toBe(2 + 1 + 3 + 13);
  });

  test.each([
    [0, 'fine'],
    [limits.PAYLOAD_WARN_BYTES, 'fine'],
    [limits.PAYLOAD_WARN_BYTES + 1, 'large'],
    [limits.PAYLOAD_LIMIT_BYTES, 'large'],
  ])('%d bytes are %s', (bytes, kind) => {
    expect(limits.checkPayloadBytes('input', bytes).kind).toBe(kind);
  });

  test('above 2 MB is refused, with the name of the field', () => {
    const check = () => limits.checkPayloads('input', { payloads: [payload(2 * 1024 * 1024)] });
    expect(check).toThrow(expect.objectContaining({ code: 'invalid-argument' }) as Error);
    expect(check).toThrow(/^input has 2097164 bytes, the limit is 2097152/);
  });
});
