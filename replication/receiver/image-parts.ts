/**
 * Puts together images that came in parts (they may be larger than a call).
 *
 * Invariants
 *  1. At most `halfImages` are half here, together at most `imageMaxBytes`; those that were fed longest ago leave for newer
 *     ones, and their senders begin again.
 *  2. Only a whole image comes out, its parts in order.
 */
import { AtollError } from '../../kernel/errors.ts';

export type ImagePart = {
  /** Unguessable, one per image sent. */
  readonly upload: string;
  readonly index: number;
  readonly count: number;
  readonly bytes: Uint8Array;
};

type Half = { readonly parts: (Uint8Array | undefined)[]; bytes: number; missing: number };

export class ImageParts {
  readonly #limits: { readonly halfImages: number; readonly imageMaxBytes: number };
  /** In the order of their last part. */
  readonly #halves = new Map<string, Half>();

  constructor(limits: { readonly halfImages: number; readonly imageMaxBytes: number }) {
    this.#limits = limits;
  }

  /** The whole image, once its last part is here. @throws AtollError `invalid-argument`, `resource-exhausted` */
  add(part: ImagePart): Uint8Array | undefined {
    const { upload, index, count, bytes } = part;
    const half = this.#halves.get(upload) ?? newHalf(part);
    this.#halves.delete(upload);
    if (half.parts.length !== count || index < 0 || index >= count) {
      throw new AtollError('invalid-argument', `part ${index} of ${count} does not fit its image`);
    }
    if (half.parts[index] === undefined) {
      half.parts[index] = bytes;
      half.bytes += bytes.length;
      half.missing -= 1;
    }
    if (half.bytes > this.#limits.imageMaxBytes) {
      throw new AtollError(
        'resource-exhausted',
        `an image has more than ${this.#limits.imageMaxBytes} bytes (imageMaxBytes)`,
      );
    }
    if (half.missing > 0) {
      this.#keep(upload, half);
      return undefined;
    }
    return Buffer.concat(half.parts.filter((one) => one !== undefined));
  }

  #keep(upload: string, half: Half): void {
    const { halfImages, imageMaxBytes } = this.#limits;
    this.#halves.set(upload, half);
    let bytes = 0;
    for (const one of this.#halves.values()) bytes += one.bytes;
    for (const [oldest, one] of this.#halves) {
      if (this.#halves.size <= halfImages && bytes <= imageMaxBytes) return;
      this.#halves.delete(oldest);
      bytes -= one.bytes;
    }
  }
}

/** More parts than this cannot be an image of ours: the least part is 64 KB. */
const MAX_PARTS = 10_000;

function newHalf({ count }: ImagePart): Half {
  if (!Number.isInteger(count) || count < 1 || count > MAX_PARTS) {
    throw new AtollError('invalid-argument', `an image cannot have ${count} parts`);
  }
  return {
    parts: new Array<Uint8Array | undefined>(count).fill(undefined),
    bytes: 0,
    missing: count,
  };
}
