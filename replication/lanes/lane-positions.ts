/**
 * The positions of all lanes in one shard as bytes and back: saved with the shard's checkpoint, given back at its next
 * opening (PROTOCOLS 7).
 *
 * Invariants
 *  1. A position says what the target has acknowledged for certain; it may say less (redelivery is harmless).
 *  2. A lane that is not listed has everything to send.
 */
import type { EpochMs } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import { decodeCbor, encodeCbor } from '../../wire/cbor.ts';
import type { Seq } from '../../cell/storage/shard-log.ts';

export type SavedPosition = {
  readonly namespaceId: string;
  readonly target: string;
  readonly kind: 'tail' | 'copy';
  /** Everything at or below has been acknowledged; in copy: runs that changed after it are still to send. */
  readonly seq: Seq;
  /** Everything that changed before has been acknowledged, ms since 1970; undefined: not known, or an older release. */
  readonly at?: EpochMs | undefined;
};

const FORMAT = 1;
type Flat = readonly [namespaceId: string, target: string, copy: boolean, seq: number, at?: number];

/** Undefined when there is nothing to remember. */
export function encodePositions(positions: readonly SavedPosition[]): Uint8Array | undefined {
  if (positions.length === 0) return undefined;
  const flat = positions.map(({ namespaceId, target, kind, seq, at }): Flat => {
    const place = [namespaceId, target, kind === 'copy', seq] as const;
    return at === undefined ? place : [...place, Math.round(at)];
  });
  return encodeCbor([FORMAT, flat]);
}

/** @throws AtollError `data-loss` for a format that this release does not read */
export function decodePositions(saved: Uint8Array | undefined): readonly SavedPosition[] {
  if (saved === undefined || saved.length === 0) return [];
  const [format, flat] = decodeCbor(saved) as [number, readonly Flat[]];
  if (format !== FORMAT) {
    throw new AtollError(
      'data-loss',
      `lane positions have format ${format}, this release reads ${FORMAT}: start the release that wrote them`,
    );
  }
  return flat.map(([namespaceId, target, copy, seq, at]) => ({
    namespaceId,
    target,
    kind: copy ? 'copy' : 'tail',
    seq: seq as Seq,
    at,
  }));
}
