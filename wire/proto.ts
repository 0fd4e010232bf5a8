/**
 * The one door to the contract's descriptors (`@temporalio/proto`, `protobufjs`): message types by full name,
 * encoded and decoded as `Plain` data.
 *
 * Place: below every codec of wire/. The official SDK shares the descriptor root of `@temporalio/proto` when it
 * runs in the same process, so we make a root of our own and leave that one alone.
 *
 * Invariants
 *  1. What is decoded is plain: objects with `Object` as constructor that own only what was on the wire. An absent
 *     scalar or message reads as undefined, an absent map or list as undefined or an empty frozen one.
 *  2. 64-bit integers are numbers: exact up to 2^53, rounded beyond (nothing of the contract goes there).
 *  3. Fields that this release does not know are dropped. Of several members of a oneof on the wire all are kept.
 *  4. `decode` gives views onto its input for `bytes` fields; `decodeCopy` gives copies, which do not pin it.
 *  5. A message that does not parse is an `invalid-argument`, never another error.
 */
import protobuf from 'protobufjs/light.js';
import { AtollError } from '../kernel/errors.ts';
import { invariant } from '../kernel/invariant.ts';
import { contractJson, type DescriptorNode } from './contract-json.ts';
import { PlainReader, CopyingReader } from './plain-reader.ts';
import { reflectionMessages } from './reflection.ts';

/** A message type of the contract whose plain form is `T`. */
export type MessageType<T> = {
  /** Full name, such as `temporal.api.history.v1.History`. */
  readonly name: string;
  encode(value: T): Uint8Array;
  /** @throws AtollError `invalid-argument` when the bytes are not such a message */
  decode(bytes: Uint8Array): T;
  /** As `decode`, with `bytes` fields copied. */
  decodeCopy(bytes: Uint8Array): T;
};

/** One RPC of a service: its name and the full names of its messages. */
export type MethodShape = {
  readonly name: string;
  readonly request: string;
  readonly response: string;
};

const oneofs = new Map<string, Readonly<Record<string, readonly string[]>>>();
const root = ownRoot();
const prepared = new Set<protobuf.Type>();

/** The message type of that full name. Its codec is compiled at first use (up to 28 ms: see `warm`). */
export function messageType<T>(name: string): MessageType<T> {
  const type = root.lookupType(name);
  let ready = false;
  const use = () => {
    if (!ready) prepare(type);
    ready = true;
    return type;
  };
  return {
    name,
    encode: (value) =>
      use()
        .encode(value as object)
        .finish(),
    decode: (bytes) => decodeWith<T>(use(), new PlainReader(bytes)),
    decodeCopy: (bytes) => decodeWith<T>(use(), new CopyingReader(bytes)),
  };
}

/** Our descriptors themselves, resolved, for file-descriptors.ts; the members of their oneofs are plain fields. */
export const descriptors: protobuf.Root = root;

/** The oneofs that a message of the contract has, name → its fields' names. */
export function oneofsOf(name: string): Readonly<Record<string, readonly string[]>> {
  return oneofs.get(name) ?? {};
}

/** The RPCs of a service, such as `grpc.health.v1.Health`. */
export function methodsOf(service: string): readonly MethodShape[] {
  return root.lookupService(service).methodsArray.map((method) => {
    method.resolve();
    const { resolvedRequestType: request, resolvedResponseType: response } = method;
    invariant(request !== null && response !== null, `${service}/${method.name}: no such message`);
    return {
      name: method.name,
      request: request.fullName.slice(1),
      response: response.fullName.slice(1),
    };
  });
}

/** Name → number of an enum of the contract, such as `temporal.api.enums.v1.EventType`. */
export function enumValues(name: string): Readonly<Record<string, number>> {
  return root.lookupEnum(name).values;
}

/** One field of a message, as much of it as reading JSON takes. */
export type FieldShape = {
  readonly id: number;
  readonly name: string;
  readonly protoName: string;
  /** A scalar's name such as `int64`, or the full name of a message or enum. */
  readonly type: string;
  readonly kind: 'scalar' | 'enum' | 'message';
  readonly repeated: boolean;
  readonly map: boolean;
};

/** The fields of a message of the contract. */
export function fieldsOf(name: string): readonly FieldShape[] {
  return root.lookupType(name).fieldsArray.map((field) => {
    const inner = field.resolve().resolvedType;
    const kind = inner === null ? 'scalar' : inner instanceof protobuf.Enum ? 'enum' : 'message';
    const type = inner === null ? field.type : inner.fullName.slice(1);
    const protoName = field.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return {
      id: field.id,
      name: field.name,
      protoName,
      type,
      kind,
      repeated: field.repeated,
      map: field.map,
    };
  });
}

function decodeWith<T>(type: protobuf.Type, reader: protobuf.Reader): T {
  try {
    return type.decode(reader) as T;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new AtollError('invalid-argument', `malformed ${type.name}: ${reason}`, {
      cause: thrown,
    });
  }
}

/** The type's decoder, and those of all that it contains, shall make plain objects. Before their first use. */
function prepare(type: protobuf.Type): void {
  if (prepared.has(type)) return;
  prepared.add(type);
  type.ctor = plainConstructor(type);
  for (const field of type.fieldsArray) {
    const inner = field.resolve().resolvedType;
    if (inner instanceof protobuf.Type) prepare(inner);
  }
}

/**
 * A constructor that returns an object of another kind than its own, so that none of the library's defaults,
 * accessors and `toJSON` are inherited. The generated decoder compares an absent map with `util.emptyObject`, so types with
 * maps find it on a prototype of theirs.
 */
function plainConstructor(type: protobuf.Type): protobuf.Constructor<object> {
  const maps = type.fieldsArray.filter((field) => field.map);
  if (maps.length === 0) return constructorOf(() => ({}));
  const empty = Object.fromEntries(
    maps.map((f) => [f.name, { value: protobuf.util.emptyObject, writable: true }]),
  );
  class Holder {}
  Object.defineProperties(Holder.prototype, { ...empty, constructor: { value: Object } });
  return constructorOf(() => new Holder());
}

/** A function that `new` may call; not a class, since protobufjs replaces its prototype. */
function constructorOf(make: () => object): protobuf.Constructor<object> {
  return function () {
    return make();
  } as unknown as protobuf.Constructor<object>;
}

/** Only what the engine speaks; the rest of the package (worker core, cloud API) stays out. */
function ownRoot(): protobuf.Root {
  const { temporal, google, grpc } = contractJson();
  const api = temporal?.nested?.['api'];
  invariant(
    api !== undefined && google !== undefined && grpc !== undefined,
    'the contract package lacks a part of the API',
  );
  delete api.nested?.['cloud'];
  const nested = {
    temporal: { nested: { api } },
    google,
    grpc: { nested: { ...grpc.nested, reflection: { nested: reflectionMessages() } } },
  };
  const json = { nested } as DescriptorNode;
  withoutOneofs(json, '');
  const own = protobuf.Root.fromJSON(json as protobuf.INamespace);
  own.resolveAll();
  return own;
}

/** Turns members of oneofs into fields with presence: the same bytes, but no virtual property in what is decoded. */
function withoutOneofs(node: DescriptorNode, path: string): void {
  const groups = Object.entries(node.oneofs ?? {}).map(
    ([name, { oneof }]) => [name, oneof] as const,
  );
  if (groups.length > 0) oneofs.set(path, Object.fromEntries(groups));
  for (const name of groups.flatMap(([, members]) => members)) {
    const field = node.fields?.[name];
    if (field !== undefined)
      field.options = { ...field.options, features: { field_presence: 'EXPLICIT' } };
  }
  delete node.oneofs;
  for (const [name, child] of Object.entries(node.nested ?? {})) {
    withoutOneofs(child, path === '' ? name : `${path}.${name}`);
  }
}
