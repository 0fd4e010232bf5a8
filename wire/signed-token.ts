/**
 * Tokens that a client carries for us and must not change (D8): version, kind, key id, MAC, body.
 * Place: task tokens and page tokens (task-token.ts) go out and come back through a `TokenKeyRing` of the fleet.
 *
 * Invariants
 *  1. Only bytes that a key of the ring signed come out of `open`, under the kind they were made for.
 *  2. A token stays valid while its key is in the ring: across restarts, cells and moves.
 *  3. The MAC is compared in constant time; the body is parsed only after it matched.
 */
import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { AtollError } from '../kernel/errors.ts';
import { invariant } from '../kernel/invariant.ts';

const VERSION = 1;
const MAC_AT = 3;
const MAC_BYTES = 16;
const BODY_AT = MAC_AT + MAC_BYTES;
const MIN_SECRET_BYTES = 16;

/** The keys that tokens are signed with. The fleet distributes and rotates them. */
export type KeyRing = {
  /** Every key that may still verify; at least the current one. */
  readonly keys: readonly TokenKey[];
  /** Id of the key that signs. */
  readonly current: number;
};
export type TokenKey = {
  /** 0 to 255, unique in the ring. */
  readonly id: number;
  /** At least 16 unguessable bytes; 32 is usual. */
  readonly secret: Uint8Array;
};

export class TokenKeyRing {
  readonly #keys: ReadonlyMap<number, KeyObject>;
  readonly #current: number;

  constructor(ring: KeyRing) {
    for (const { id, secret } of ring.keys) {
      invariant(
        Number.isInteger(id) && id >= 0 && id <= 255,
        `token key id ${id} is not in 0..255`,
      );
      invariant(secret.length >= MIN_SECRET_BYTES, `token key ${id} has ${secret.length} bytes`);
    }
    this.#keys = new Map(ring.keys.map(({ id, secret }) => [id, createSecretKey(secret)]));
    this.#current = ring.current;
    invariant(this.#keys.size === ring.keys.length, 'two token keys have the same id');
    invariant(
      this.#keys.has(ring.current),
      `the current token key ${ring.current} is not in the ring`,
    );
  }

  /** The body as a signed token of that kind (0 to 255). */
  seal(kind: number, body: Uint8Array): Uint8Array {
    const key = this.#keys.get(this.#current);
    invariant(key !== undefined, 'the current key is in the ring');
    const token = new Uint8Array(BODY_AT + body.length);
    token.set([VERSION, kind, this.#current]);
    token.set(body, BODY_AT);
    token.set(mac(key, token), MAC_AT);
    return token;
  }

  /** Whether this fleet signed it, whatever it is for. */
  isOurs(token: Uint8Array): boolean {
    const key = this.#keys.get(token[2] ?? -1);
    if (key === undefined || token.length < BODY_AT || token[0] !== VERSION) return false;
    return timingSafeEqual(mac(key, token), token.subarray(MAC_AT, BODY_AT));
  }

  /**
   * The body of a token of that kind.
   * @param name what the caller calls such a token, for the message
   * @throws AtollError `invalid-argument` for anything else
   */
  open(kind: number, token: Uint8Array | undefined, name: string): Uint8Array {
    if (token === undefined || token.length === 0) throw refused(name, 'is empty');
    if (token.length < BODY_AT) throw refused(name, 'is too short to be one of ours');
    if (token[0] !== VERSION) throw refused(name, 'is not one of ours, or of another release');
    const key = this.#keys.get(token[2] ?? -1);
    if (key === undefined)
      throw refused(name, 'is signed with a key that this fleet does not have');
    if (!timingSafeEqual(mac(key, token), token.subarray(MAC_AT, BODY_AT))) {
      throw refused(name, 'does not carry our signature');
    }
    if (token[1] !== kind) throw refused(name, 'is a token of another kind');
    return token.subarray(BODY_AT);
  }
}

/** Over everything but the MAC's own place. */
function mac(key: KeyObject, token: Uint8Array): Uint8Array {
  const hmac = createHmac('sha256', key);
  hmac.update(token.subarray(0, MAC_AT)).update(token.subarray(BODY_AT));
  return hmac.digest().subarray(0, MAC_BYTES);
}

function refused(name: string, why: string): AtollError {
  return new AtollError(
    'invalid-argument',
    `the ${name} ${why}; send the one that this service handed out, unchanged`,
  );
}
