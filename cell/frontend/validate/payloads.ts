/**
 * Payload limits of requests: beyond 2 MB refused, beyond 256 KB logged (DESIGN 3, BEHAVIOURS 24). Counted a field:
 * all that one payload-carrying field of a request holds.
 */
import { checkPayloadBytes, PAYLOAD_LIMIT_BYTES } from '../../../wire/payload-limits.ts';
import type { FrontendParts } from '../call.ts';

/** @throws AtollError `invalid-argument` naming the field that is too large */
export function checkSizes(
  { log }: Pick<FrontendParts, 'log'>,
  rpc: string,
  fields: Readonly<Record<string, unknown>>,
): void {
  for (const [field, value] of Object.entries(fields)) {
    const check = checkPayloadBytes(field, bytesIn(value));
    if (check.kind === 'large') {
      const { bytes } = check;
      log.warn({ rpc, field, bytes }, 'A payload is large: keep it elsewhere, send a reference.');
    }
  }
}

/** Whether a value is beyond the limit, for those whose excess is answered by other means than a refusal. */
export function isTooLarge(value: unknown): boolean {
  return bytesIn(value) > PAYLOAD_LIMIT_BYTES;
}

/** Size of all data and text inside, near enough to that on the wire. */
function bytesIn(value: unknown): number {
  if (value instanceof Uint8Array || typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let sum = 0;
  for (const [name, inner] of Object.entries(value)) sum += name.length + bytesIn(inner);
  return sum;
}
