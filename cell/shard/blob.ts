/** View blobs (D17): a format version, then CBOR. An unknown version is refused with what to do, never guessed at. */
import { AtollError } from '../../kernel/errors.ts';
import { decodeCbor, encodeCbor } from '../../wire/cbor.ts';

export const BLOB_FORMAT = 1;

export function encodeBlob(value: unknown): Uint8Array {
  const body = encodeCbor(value);
  const blob = new Uint8Array(body.length + 1);
  blob[0] = BLOB_FORMAT;
  blob.set(body, 1);
  return blob;
}

/** Errors: `data-loss` for a format this release does not read. */
export function decodeBlob(blob: Uint8Array, what: string): unknown {
  if (blob[0] !== BLOB_FORMAT) {
    throw new AtollError(
      'data-loss',
      `a ${what} row has format ${blob[0]}, this release reads ${BLOB_FORMAT}: start the release that wrote it`,
    );
  }
  return decodeCbor(blob.subarray(1));
}
