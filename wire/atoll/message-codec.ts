/**
 * Messages of our own services (`atoll.*`) as protobuf: descriptors written down as tables, encoded and decoded as plain
 * objects.
 *
 * Place: below replication.ts and what other services of ours follow. Temporal's contract has its own root (proto.ts).
 *
 * Invariants
 *  1. What is decoded is a plain object with every field of its type: absent scalars read as 0, '' or false, absent lists as
 *     empty. Where "absent" has a meaning of its own the message says so in a field.
 *  2. Unknown fields are dropped, so that a newer release may add some; a number is never given twice (D17).
 *  3. Bytes that are no such message are `invalid-argument`. Fields of bytes are views onto the input.
 */
import protobuf from 'protobufjs/light.js';
import { AtollError } from '../../kernel/errors.ts';

/** Field name → [number, type]; a type ending in `[]` is a list. */
export type MessageTable = Readonly<Record<string, readonly [id: number, type: string]>>;

export type MessageCodec<T> = {
  encode(value: T): Uint8Array;
  /** @throws AtollError `invalid-argument` */
  decode(bytes: Uint8Array): T;
};

/** The codecs of a package's messages, by their names. */
export class MessagePackage {
  readonly #root: protobuf.Root;
  readonly #name: string;

  /** @param name such as `atoll.replication.v1` */
  constructor(name: string, messages: Readonly<Record<string, MessageTable>>) {
    this.#name = name;
    this.#root = new protobuf.Root();
    const folder = this.#root.define(name);
    for (const [message, table] of Object.entries(messages)) {
      const type = new protobuf.Type(message);
      for (const [field, [id, kind]] of Object.entries(table)) {
        const isList = kind.endsWith('[]');
        const rule = isList ? 'repeated' : undefined;
        type.add(new protobuf.Field(field, id, isList ? kind.slice(0, -2) : kind, rule));
      }
      folder.add(type);
    }
    this.#root.resolveAll();
  }

  codec<T>(message: string): MessageCodec<T> {
    const type = this.#root.lookupType(`${this.#name}.${message}`);
    const options = { defaults: true, arrays: true, longs: Number };
    return {
      encode: (value) => type.encode(value as object).finish(),
      decode(bytes) {
        try {
          return type.toObject(type.decode(bytes), options) as T;
        } catch (cause) {
          throw new AtollError('invalid-argument', `malformed ${message}`, { cause });
        }
      },
    };
  }
}
