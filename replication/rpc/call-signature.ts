/**
 * Who calls: each call between cells, and of an admin, is signed with the fleet's key ring (D8).
 *
 * Invariants
 *  1. A signature counts for one path, one body, one addressee and `WINDOW_MS` around its time: nothing of it can be used for
 *     anything else. A repeat within that time is harmless, since every call is idempotent.
 *  2. Whoever holds the ring is of the fleet; the role says as what it calls, and the handler what that role may.
 */
import { createHash } from 'node:crypto';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import { decodeCbor, encodeCbor } from '../../wire/cbor.ts';
import type { TokenKeyRing } from '../../wire/signed-token.ts';

export const SIGNATURE_HEADER = 'atoll-call-signature';
/** Kind of our tokens; those of task-token.ts have others. */
const KIND = 16;
/** Clocks of the fleet differ by less. */
const WINDOW_MS = 120_000;

export type Caller = { readonly role: 'cell' | 'admin'; readonly name: string };

export type SignedCall = {
  readonly path: string;
  readonly body: Uint8Array;
  /** Id of the cell that is called. */
  readonly to: string;
  readonly now: number;
};

type Claim = readonly [
  role: string,
  name: string,
  to: string,
  path: string,
  hash: Uint8Array,
  at: number,
];

/** The header's value. */
export function signCall(ring: TokenKeyRing, caller: Caller, call: SignedCall): string {
  const { path, body, to, now } = call;
  const claim: Claim = [caller.role, caller.name, to, path, hashOf(body), now];
  return Buffer.from(ring.seal(KIND, encodeCbor(claim))).toString('base64');
}

/** @throws AtollError `unauthenticated` for a call that nobody of this fleet signed, or that was signed for another */
export function callerOf(
  ring: TokenKeyRing,
  header: string | string[] | undefined,
  call: SignedCall,
): Caller {
  if (typeof header !== 'string' || header === '') {
    throw refused('it is not signed');
  }
  let claim: Claim;
  try {
    const token = new Uint8Array(Buffer.from(header, 'base64'));
    claim = decodeCbor(ring.open(KIND, token, 'signature')) as Claim;
  } catch (cause) {
    throw refused(toAtollError(cause).message, cause);
  }
  const [role, name, to, path, hash, at] = claim;
  if (to !== call.to) throw refused(`it is signed for cell ${to}`);
  if (path !== call.path) throw refused(`it is signed for ${path}`);
  if (Buffer.compare(hash, hashOf(call.body)) !== 0) throw refused('its body is another one');
  if (Math.abs(call.now - at) > WINDOW_MS) {
    throw refused(`it was signed ${call.now - at} ms ago: set the clocks of both machines`);
  }
  if (role !== 'cell' && role !== 'admin') throw refused(`role ${role} is not known`);
  return { role, name };
}

function hashOf(body: Uint8Array): Uint8Array {
  return createHash('sha256').update(body).digest();
}

function refused(why: string, cause?: unknown): AtollError {
  return new AtollError('unauthenticated', `A call between cells was refused: ${why}.`, { cause });
}
