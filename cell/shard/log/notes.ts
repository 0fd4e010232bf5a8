/** What a shard notes with its checkpoint beside the views: marks of namespaces, positions of lanes (PROTOCOLS 7, 8). */
import { decodeBlob, encodeBlob } from '../blob.ts';
import type { Mark } from '../mark.ts';

export type Notes = {
  readonly marks: readonly Mark[];
  /** Of the lanes; theirs to read. */
  readonly lanes?: Uint8Array | undefined;
};

const NOTHING: Notes = { marks: [] };

/** Undefined where there is nothing to note: most shards of a fleet in which nothing was ever moved. */
export function encodeNotes({ marks, lanes }: Notes): Uint8Array | undefined {
  if (marks.length === 0 && lanes === undefined) return undefined;
  return encodeBlob({ marks, ...(lanes === undefined ? {} : { lanes }) });
}

/** Errors: `data-loss` for a format this release does not read. */
export function decodeNotes(notes: Uint8Array | undefined): Notes {
  return notes === undefined ? NOTHING : (decodeBlob(notes, 'shard notes') as Notes);
}
