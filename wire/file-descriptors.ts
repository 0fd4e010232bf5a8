/**
 * The contract as the files that gRPC reflection hands out: one `FileDescriptorProto` for each package, and Google's own
 * under their usual names, since tools bring those along.
 *
 * Place: asked by router/reflection-call.ts. The package of the contract holds no files, so their names are ours, except
 * Google's. Custom options (HTTP paths and the like) are left out.
 *
 * Invariants
 *  1. A file names every file that it needs, and those never need it in turn.
 *  2. A file is made at its first use and kept: at most as many as there are packages (P11).
 */
import protobuf from 'protobufjs/light.js';
import { descriptors, messageType, oneofsOf } from './proto.ts';

type Top = protobuf.Type | protobuf.Enum | protobuf.Service;
type AnyField = protobuf.Field | protobuf.MapField;

/** Google's files by what stands in them; types that are not named stand in a file named as they are. */
const GOOGLE_FILES: Readonly<Record<string, string>> = {
  FieldMask: 'field_mask',
  ...Object.fromEntries(
    ['Double', 'Float', 'Int64', 'UInt64', 'Int32', 'UInt32', 'Bool', 'String', 'Bytes'].map(
      (kind) => [`${kind}Value`, 'wrappers'],
    ),
  ),
  ...Object.fromEntries(['Struct', 'Value', 'NullValue', 'ListValue'].map((n) => [n, 'struct'])),
};

/** `FieldDescriptorProto.Type`. */
const SCALARS: Readonly<Record<string, number>> = {
  ...{ double: 1, float: 2, int64: 3, uint64: 4, int32: 5, fixed64: 6, fixed32: 7, bool: 8 },
  ...{ string: 9, bytes: 12, uint32: 13, sfixed32: 15, sfixed64: 16, sint32: 17, sint64: 18 },
};
const MESSAGE = 11;
const ENUM = 14;
const OPTIONAL = 1;
const REPEATED = 3;

const fileType = messageType<object>('google.protobuf.FileDescriptorProto');
const made = new Map<string, DescriptorFile>();
/** Names are put together anew at each question, and a file asks thousands of times. */
const fileOfTop = new WeakMap<Top, string>();
const fullNames = new WeakMap<protobuf.ReflectionObject, string>();

type DescriptorFile = { readonly bytes: Uint8Array; readonly needs: readonly string[] };

/** The name of the file in which a message, enum, service, RPC or field stands; undefined if there is none. */
export function fileOfSymbol(symbol: string): string | undefined {
  const found = descriptors.lookup(symbol.replace(/^\./, '')) ?? lookupMethod(symbol);
  if (found === null || isPackage(found)) return undefined;
  const file = fileOf(topOf(found));
  return membersOf(file).length > 0 ? file : undefined;
}

/**
 * That file and all that it needs, itself first; undefined if there is no such file. The largest takes some 30 ms to
 * make, once, so it waits for a `turn` after each.
 */
export async function fileWithItsNeeds(
  name: string,
  turn: () => Promise<void>,
): Promise<readonly Uint8Array[] | undefined> {
  if (membersOf(name).length === 0) return undefined;
  const names = new Set([name]);
  for (const one of names) {
    if (!made.has(one)) await turn();
    for (const need of fileNamed(one).needs) names.add(need);
  }
  return [...names].map((one) => fileNamed(one).bytes);
}

/** Whether a message of that name is in the contract. */
export function isMessage(name: string): boolean {
  return descriptors.lookup(name) instanceof protobuf.Type;
}

function fileNamed(name: string): DescriptorFile {
  const known = made.get(name);
  if (known !== undefined) return known;
  const file = describeFile(name, membersOf(name));
  made.set(name, file);
  return file;
}

function describeFile(name: string, members: readonly Top[]): DescriptorFile {
  const needs = new Set(members.flatMap((member) => typesUsedBy(member)).map(fileOf));
  needs.delete(name);
  const bytes = fileType.encode({
    name,
    package: nameOf(members[0]?.parent),
    dependency: [...needs],
    messageType: members.filter((one) => one instanceof protobuf.Type).map(describeMessage),
    enumType: members.filter((one) => one instanceof protobuf.Enum).map(describeEnum),
    service: members.filter((one) => one instanceof protobuf.Service).map(describeService),
    syntax: 'proto3',
  });
  return { bytes, needs: [...needs] };
}

function describeMessage(type: protobuf.Type): object {
  const name = nameOf(type);
  const groups = Object.entries(oneofsOf(name));
  const groupOf = new Map(groups.flatMap(([, fields], i) => fields.map((field) => [field, i])));
  const fields = type.fieldsArray.map((field) => field.resolve());
  const maps = fields.filter((field) => field instanceof protobuf.MapField);
  return {
    name: type.name,
    field: fields.map((field) => ({
      ...describeField(field),
      oneofIndex: groupOf.get(field.name),
    })),
    oneofDecl: groups.map(([group]) => ({ name: snake(group) })),
    nestedType: [
      ...type.nestedArray.filter((one) => one instanceof protobuf.Type).map(describeMessage),
      ...maps.map(describeMapEntry),
    ],
    enumType: type.nestedArray.filter((one) => one instanceof protobuf.Enum).map(describeEnum),
  };
}

function describeField(field: protobuf.Field): object {
  const isMap = field instanceof protobuf.MapField;
  const inMap = isMap ? `.${nameOf(field.parent)}.${entryOf(field)}` : undefined;
  return {
    name: protoNameOf(field),
    jsonName: field.name,
    number: field.id,
    label: field.repeated || isMap ? REPEATED : OPTIONAL,
    ...(isMap ? { type: MESSAGE, typeName: inMap } : typeOf(field)),
    ...(field.options?.['deprecated'] === true ? { options: { deprecated: true } } : {}),
  };
}

/** A map is a list of messages of two fields, says the encoding. */
function describeMapEntry(field: protobuf.MapField): object {
  const optional = { label: OPTIONAL };
  return {
    name: entryOf(field),
    field: [
      { ...optional, name: 'key', jsonName: 'key', number: 1, type: SCALARS[field.keyType] },
      { ...optional, name: 'value', jsonName: 'value', number: 2, ...typeOf(field) },
    ],
    options: { mapEntry: true },
  };
}

function typeOf(field: AnyField): object {
  const { resolvedType } = field;
  if (resolvedType === null) return { type: SCALARS[field.type] };
  const type = resolvedType instanceof protobuf.Enum ? ENUM : MESSAGE;
  return { type, typeName: `.${nameOf(resolvedType)}` };
}

function describeEnum(one: protobuf.Enum): object {
  const value = Object.entries(one.values).map(([name, number]) => ({ name, number }));
  const repeats = new Set(Object.values(one.values)).size < value.length;
  return { name: one.name, value, ...(repeats ? { options: { allowAlias: true } } : {}) };
}

function describeService(service: protobuf.Service): object {
  return {
    name: service.name,
    method: service.methodsArray.map((method) => {
      method.resolve();
      return {
        name: method.name,
        inputType: method.resolvedRequestType?.fullName,
        outputType: method.resolvedResponseType?.fullName,
        clientStreaming: method.requestStream === true,
        serverStreaming: method.responseStream === true,
        ...(method.options?.['deprecated'] === true ? { options: { deprecated: true } } : {}),
      };
    }),
  };
}

/** The outermost types that the fields of a message, or the RPCs of a service, name. */
function typesUsedBy(member: protobuf.ReflectionObject): readonly Top[] {
  if (member instanceof protobuf.Service) {
    return member.methodsArray.flatMap((method) => {
      method.resolve();
      return [method.resolvedRequestType, method.resolvedResponseType].flatMap(topsOf);
    });
  }
  if (!(member instanceof protobuf.Type)) return [];
  const own = member.fieldsArray.flatMap((field) => topsOf(field.resolve().resolvedType));
  return [...own, ...member.nestedArray.flatMap(typesUsedBy)];
}

function topsOf(type: protobuf.ReflectionObject | null): readonly Top[] {
  return type === null ? [] : [topOf(type)];
}

/** The message, enum or service that stands right in a package and holds this. */
function topOf(inner: protobuf.ReflectionObject): Top {
  let top = inner;
  while (top.parent !== null && !isPackage(top.parent)) top = top.parent;
  return top as Top;
}

/** What stands in that file. */
function membersOf(file: string): readonly Top[] {
  const folder = file.slice(0, file.lastIndexOf('/')).replaceAll('/', '.');
  const inPackage = folder === '' ? null : descriptors.lookup(folder);
  if (!(inPackage instanceof protobuf.Namespace) || !isPackage(inPackage)) return [];
  return inPackage.nestedArray.filter((one): one is Top => isTop(one) && fileOf(one) === file);
}

function fileOf(top: Top): string {
  const known = fileOfTop.get(top);
  if (known !== undefined) return known;
  const file = newFileOf(top);
  fileOfTop.set(top, file);
  return file;
}

function newFileOf(top: Top): string {
  const inPackage = nameOf(top.parent);
  const folder = inPackage.replaceAll('.', '/');
  if (!inPackage.startsWith('google.')) return `${folder}/message.proto`;
  return `${folder}/${GOOGLE_FILES[top.name] ?? snake(top.name)}.proto`;
}

function isTop(one: protobuf.ReflectionObject): one is Top {
  return one instanceof protobuf.Type || one instanceof protobuf.Enum || isService(one);
}

function isService(one: protobuf.ReflectionObject): one is protobuf.Service {
  return one instanceof protobuf.Service;
}

/** Types and services are namespaces, too, but no packages. */
function isPackage(one: protobuf.ReflectionObject): boolean {
  return one instanceof protobuf.Namespace && !(one instanceof protobuf.Type) && !isService(one);
}

/** `package.Service.Method`, which the library does not look up. */
function lookupMethod(symbol: string): protobuf.ReflectionObject | null {
  const dot = symbol.lastIndexOf('.');
  const service = descriptors.lookup(symbol.slice(0, Math.max(0, dot)));
  if (service === null || !isService(service)) return null;
  return service.methods[symbol.slice(dot + 1)] ?? null;
}

function nameOf(one: protobuf.ReflectionObject | null | undefined): string {
  if (one === null || one === undefined) return '';
  const known = fullNames.get(one);
  if (known !== undefined) return known;
  const name = one.fullName.replace(/^\./, '');
  fullNames.set(one, name);
  return name;
}

function entryOf(field: AnyField): string {
  const words = protoNameOf(field).split('_');
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Entry`;
}

/** The library keeps the name of the file only where it differs. */
function protoNameOf(field: AnyField): string {
  return (field as { protoName?: string }).protoName ?? field.name;
}

function snake(name: string): string {
  return name.replace(
    /[A-Z]/g,
    (letter, at: number) => `${at > 0 ? '_' : ''}${letter.toLowerCase()}`,
  );
}
