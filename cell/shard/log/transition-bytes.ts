/**
 * Transitions as CBOR, encoded once: the shard's log, the lanes and the log of a replica hold the same bytes of one, each
 * behind a place of its own in its record.
 *
 * Place: record-codec.ts puts records together of these.
 *
 * Invariants
 *  1. What is put together equals what `encodeCbor` makes of the whole.
 *  2. A transition never changes, and neither do its events: what was encoded of it stays right as long as it lives.
 */
import { encodeCbor } from '../../../wire/cbor.ts';
import type { Transition } from '../../history/transition.ts';

/** The elements of an encoded array, without what says how many they are. */
type Elements = { readonly count: number; readonly bytes: Uint8Array };

const encoded = new WeakMap<Transition, Elements>();
/** An array of fewer elements says so in one byte. */
const SHORT = 24;

/**
 * A transition as an array: first the place of its namespace in its record, then these elements.
 * @param elements made if they were not encoded yet; fewer than 23
 */
export function transitionBytes(
  transition: Transition,
  namespace: number,
  elements: () => readonly unknown[],
): readonly Uint8Array[] {
  let known = encoded.get(transition);
  if (known === undefined) {
    const all = elements();
    known = { count: all.length, bytes: encodeCbor(all).subarray(1) };
    encoded.set(transition, known);
  }
  const head = arrayHead(known.count + 1);
  return [
    namespace < SHORT ? Uint8Array.of(...head, namespace) : withBig(head, namespace),
    known.bytes,
  ];
}

/** What begins an array of so many elements. */
export function arrayHead(count: number): readonly number[] {
  if (count < SHORT) return [0x80 | count];
  if (count < 0x100) return [0x98, count];
  if (count < 0x10000) return [0x99, count >> 8, count & 0xff];
  return [0x9a, count >>> 24, (count >> 16) & 0xff, (count >> 8) & 0xff, count & 0xff];
}

function withBig(head: readonly number[], namespace: number): Uint8Array {
  return Uint8Array.of(...head, ...encodeCbor(namespace));
}
