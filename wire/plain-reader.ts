/**
 * Readers of the wire format that yield plain data: numbers for 64-bit integers, `Uint8Array` for bytes.
 * Place: handed to protobufjs's generated decoders by proto.ts; see there for the invariants.
 */
import protobuf from 'protobufjs/light.js';

const TWO_32 = 4294967296;

/** Reads `bytes` fields as views onto the input. */
export class PlainReader extends protobuf.BufferReader {
  #low = 0;
  #high = 0;

  constructor(bytes: Uint8Array) {
    super(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    this.discardUnknown = true;
  }

  // The declared result is `Long`; the generated decoder only stores what comes back.
  override int64(): never {
    this.#varint();
    return ((this.#high | 0) * TWO_32 + this.#low) as never;
  }

  override uint64(): never {
    this.#varint();
    return ((this.#high >>> 0) * TWO_32 + this.#low) as never;
  }

  override sint64(): never {
    return toNumber(super.sint64()) as never;
  }

  override fixed64(): never {
    return toNumber(super.fixed64()) as never;
  }

  override sfixed64(): never {
    return toNumber(super.sfixed64()) as never;
  }

  override bytes(): Uint8Array {
    const length = this.uint32();
    const start = this.pos;
    if (start + length > this.len)
      throw new RangeError(`${length} bytes announced, ${this.len - start} there`);
    this.pos = start + length;
    return this.slice(start, length);
  }

  /** What a `bytes` field becomes. */
  protected slice(start: number, length: number): Uint8Array {
    return new Uint8Array(this.buf.buffer, this.buf.byteOffset + start, length);
  }

  /** Up to ten bytes, as two unsigned halves: neither half loses a bit. */
  #varint(): void {
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.pos < this.len ? this.buf[this.pos++] : undefined;
      if (byte === undefined) throw new RangeError('an integer runs past the end');
      if (i < 4) low |= (byte & 127) << (7 * i);
      else if (i < 8) middle |= (byte & 127) << (7 * (i - 4));
      else high |= (byte & 127) << (7 * (i - 8));
      if (byte < 128) {
        this.#low = (low | (middle << 28)) >>> 0;
        this.#high = ((middle >>> 4) | (high << 24)) >>> 0;
        return;
      }
    }
    throw new RangeError('an integer of more than ten bytes');
  }
}

/** Reads `bytes` fields as copies, so that keeping one does not keep the whole input. */
export class CopyingReader extends PlainReader {
  protected override slice(start: number, length: number): Uint8Array {
    return new Uint8Array(super.slice(start, length));
  }
}

function toNumber(value: unknown): number {
  return typeof value === 'number' ? value : Number(String(value));
}
