/**
 * Reads event ids and borders of encoded events without decoding them: for paging, for cutting a history at an event.
 * Place: over the bytes of event-codec.ts, in the read paths of a cell.
 *
 * Invariants
 *  1. Ranges are contiguous and cover the input: `bytes.subarray(range.start, range.end)` is a whole entry.
 */
import { AtollError } from '../kernel/errors.ts';

/** Tag of `History.events`: field 1, length-delimited. */
const EVENTS_TAG = 0x0a;

export type EventRange = {
  readonly eventId: number;
  /** Where the entry begins, its tag included. */
  readonly start: number;
  readonly end: number;
};

/** @throws AtollError `invalid-argument` when the bytes are not entries of `History.events` */
export function scanEvents(bytes: Uint8Array): EventRange[] {
  const ranges: EventRange[] = [];
  const cursor = new Cursor(bytes);
  while (cursor.at < bytes.length) {
    const start = cursor.at;
    if (cursor.varint() !== EVENTS_TAG) throw malformed(`byte ${start} begins no event`);
    const length = cursor.varint();
    const end = cursor.at + length;
    if (end > bytes.length) throw malformed(`the event at byte ${start} runs past the end`);
    ranges.push({ eventId: cursor.eventId(end), start, end });
    cursor.at = end;
  }
  return ranges;
}

/** How many events there are. */
export function countEvents(bytes: Uint8Array): number {
  return scanEvents(bytes).length;
}

/** The entries with `first <= event id <= last`, as a view: ids ascend within stored bytes. */
export function sliceEvents(bytes: Uint8Array, first: number, last: number): Uint8Array {
  const inside = scanEvents(bytes).filter(({ eventId }) => eventId >= first && eventId <= last);
  return bytes.subarray(inside[0]?.start ?? 0, inside.at(-1)?.end ?? 0);
}

class Cursor {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Exact up to 2^53, which lengths and event ids are far below. */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) throw malformed('an integer runs past the end');
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
    throw malformed('an integer of more than ten bytes');
  }

  /** Field 1 of the event that ends at `end`; 0 when it has none. */
  eventId(end: number): number {
    while (this.at < end) {
      const tag = this.varint();
      if (tag === 0x08) return this.varint();
      this.#skip(tag & 7);
    }
    return 0;
  }

  #skip(wireType: number): void {
    if (wireType === 0) this.varint();
    else if (wireType === 1) this.at += 8;
    else if (wireType === 5) this.at += 4;
    else if (wireType === 2) {
      const length = this.varint();
      this.at += length;
    } else throw malformed(`wire type ${wireType}`);
  }
}

function malformed(why: string): AtollError {
  return new AtollError('invalid-argument', `malformed history bytes: ${why}`);
}
