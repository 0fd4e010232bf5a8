/** The MAC of a token is HMAC-SHA256 as the library makes it: tokens outlive releases (D17). */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { TokenKeyRing } from './signed-token.ts';

const MAC_AT = 3;
const BODY_AT = 19;

describe('TokenKeyRing', () => {
  it.each([16, 32, 63, 64, 65, 200])(
    'signs as HMAC-SHA256 does, with a key of %i bytes',
    (bytes) => {
      const secret = Uint8Array.from({ length: bytes }, (_, i) => (i * 7 + bytes) % 256);
      const ring = new TokenKeyRing({ keys: [{ id: 9, secret }], current: 9 });
      for (const length of [0, 1, 32, 55, 56, 64, 1_000]) {
        const token = ring.seal(4, new Uint8Array(length).fill(length % 251));
        const expected = createHmac('sha256', secret)
          .update(token.subarray(0, MAC_AT))
          .update(token.subarray(BODY_AT))
          .digest()
          .subarray(0, BODY_AT - MAC_AT);
        expect(Buffer.from(token.subarray(MAC_AT, BODY_AT))).toEqual(expected);
        expect(ring.isOurs(token)).toBe(true);
        expect(ring.open(4, token, 'token')).toHaveLength(length);
      }
    },
  );
});
