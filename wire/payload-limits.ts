/**
 * How large payloads may be: 2 MB inline at most, a warning above 256 KB (DESIGN 3). Sizes are those on the wire, near enough:
 * data and metadata, without the few bytes of framing.
 */
import { AtollError } from '../kernel/errors.ts';
import type { Failure, Header, Memo, Payload, Payloads, SearchAttributes } from './plain.ts';

export const PAYLOAD_WARN_BYTES = 256 * 1024;
export const PAYLOAD_LIMIT_BYTES = 2 * 1024 * 1024;

/** What a check found: `large` is allowed, and worth a line in the log. */
export type PayloadCheck =
  | { readonly kind: 'fine' }
  | { readonly kind: 'large'; readonly field: string; readonly bytes: number };

/** A memo or header has `fields`, search attributes `indexedFields`. */
type Fields = Memo & Header & SearchAttributes;

export function payloadBytes(payload: Payload | undefined): number {
  if (payload === undefined) return 0;
  let bytes = payload.data?.length ?? 0;
  for (const [key, value] of Object.entries(payload.metadata ?? {})) {
    bytes += key.length + (value?.length ?? 0);
  }
  return bytes;
}

export function payloadsBytes(payloads: Payloads | undefined): number {
  return (payloads?.payloads ?? []).reduce((sum, payload) => sum + payloadBytes(payload), 0);
}

/** Of a memo, a header or search attributes: names count. */
export function fieldsBytes(value: Fields | undefined): number {
  return Object.entries(value?.fields ?? value?.indexedFields ?? {}).reduce(
    (sum, [name, payload]) => sum + name.length + payloadBytes(payload),
    0,
  );
}

/** Of a failure with its causes: text and payloads. */
export function failureBytes(failure: Failure | undefined): number {
  let bytes = 0;
  for (let at = failure; at !== undefined; at = at.cause) {
    bytes += (at.message?.length ?? 0) + (at.stackTrace?.length ?? 0) + (at.source?.length ?? 0);
    bytes += payloadBytes(at.encodedAttributes);
    bytes +=
      payloadsBytes(at.applicationFailureInfo?.details) +
      payloadsBytes(at.canceledFailureInfo?.details);
    bytes += payloadsBytes(at.timeoutFailureInfo?.lastHeartbeatDetails);
  }
  return bytes;
}

/**
 * Holds a size against the limits.
 * @param field its name in messages, such as `input` or `memo`
 * @throws AtollError `invalid-argument` above 2 MB
 */
export function checkPayloadBytes(field: string, bytes: number): PayloadCheck {
  if (bytes > PAYLOAD_LIMIT_BYTES) {
    throw new AtollError(
      'invalid-argument',
      `${field} has ${bytes} bytes, the limit is ${PAYLOAD_LIMIT_BYTES}: keep large data elsewhere and send a reference`,
    );
  }
  return bytes > PAYLOAD_WARN_BYTES ? { kind: 'large', field, bytes } : { kind: 'fine' };
}

/** checkPayloadBytes for what calls carry most: arguments, results, details. */
export function checkPayloads(field: string, payloads: Payloads | undefined): PayloadCheck {
  return checkPayloadBytes(field, payloadsBytes(payloads));
}
