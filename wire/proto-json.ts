/**
 * Messages of the contract from JSON in its usual spellings, as plain data.
 * Place: under history-json.ts; reading files of other tools, never on the path of a call.
 *
 * Spellings: 64-bit integers as strings or numbers; enums as `EVENT_TYPE_TIMER_FIRED`, `TimerFired` or 17; bytes as base64;
 * durations as `1.5s`, timestamps as RFC 3339, both also as `{ seconds, nanos }`; fields in camelCase or snake_case.
 * Unknown fields are ignored, null is absent. A payload that stands there decoded, as plain JSON, is encoded as
 * `json/plain`, the way the SDKs do it.
 */
import { AtollError } from '../kernel/errors.ts';
import { enumValues, fieldsOf, type FieldShape } from './proto.ts';

type Json = Readonly<Record<string, unknown>>;
/** Reads a value that has a spelling of its own. */
type Special = (value: unknown, where: string) => unknown;

const SPECIAL: Readonly<Record<string, Special>> = {
  'google.protobuf.Duration': (value, where) =>
    typeof value === 'string' ? duration(value, where) : value,
  'google.protobuf.Timestamp': (value, where) =>
    typeof value === 'string' ? timestamp(value, where) : value,
  'google.protobuf.FieldMask': (value) =>
    typeof value === 'string' ? { paths: value.split(',') } : value,
};
const shapes = new Map<string, ReadonlyMap<string, FieldShape>>();

const PAYLOAD = 'temporal.api.common.v1.Payload';

/**
 * @param type full name of the message
 * @throws AtollError `invalid-argument` that names the place of what cannot be read
 */
export function messageFromJson(type: string, json: unknown, where = ''): unknown {
  if (type === PAYLOAD && !isEncodedPayload(json)) return jsonPayload(json);
  const special = SPECIAL[type];
  if (special !== undefined && !isObject(json)) return special(json, where);
  if (!isObject(json))
    throw unreadable(where, `is not an object, but ${JSON.stringify(json)?.slice(0, 40)}`);
  const shape = shapeOf(type);
  const message: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(json)) {
    const field = shape.get(key);
    if (field === undefined || value === null) continue;
    message[field.name] = fieldFromJson(field, value, `${where}.${key}`);
  }
  return message;
}

/** The number of an enum value in any spelling; undefined for one that the contract does not name. */
export function enumFromJson(type: string, value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const wanted = bare(String(value));
  const prefix = bare(type.slice(type.lastIndexOf('.') + 1));
  const found = Object.entries(enumValues(type)).find(
    ([name]) => bare(name) === wanted || bare(name) === prefix + wanted,
  );
  return found?.[1];
}

function shapeOf(type: string): ReadonlyMap<string, FieldShape> {
  const known = shapes.get(type);
  if (known !== undefined) return known;
  const shape = new Map(
    fieldsOf(type).flatMap((f) => [[f.name, f] as const, [f.protoName, f] as const]),
  );
  shapes.set(type, shape);
  return shape;
}

function fieldFromJson(field: FieldShape, value: unknown, where: string): unknown {
  if (field.map && isObject(value)) {
    const entries = Object.entries(value).map(([key, inner]) => [
      key,
      one(field, inner, `${where}.${key}`),
    ]);
    return Object.fromEntries(entries) as unknown;
  }
  if (field.repeated && Array.isArray(value)) {
    return value.map((inner, i) => one(field, inner, `${where}[${i}]`));
  }
  if (field.map || field.repeated) throw unreadable(where, 'is not a list or map');
  return one(field, value, where);
}

function one(field: FieldShape, value: unknown, where: string): unknown {
  if (field.kind === 'message') return messageFromJson(field.type, value, where);
  if (field.kind === 'enum') {
    const number = enumFromJson(field.type, value);
    if (number === undefined) throw unreadable(where, `is no ${field.type}: ${String(value)}`);
    return number;
  }
  if (field.type === 'bytes') return new Uint8Array(Buffer.from(String(value), 'base64'));
  if (field.type === 'string') return String(value);
  if (field.type === 'bool') return value === true;
  const number = Number(value);
  if (Number.isNaN(number)) throw unreadable(where, `is not a number: ${String(value)}`);
  return number;
}

function isEncodedPayload(json: unknown): boolean {
  return isObject(json) && ('metadata' in json || 'data' in json || Object.keys(json).length === 0);
}

function jsonPayload(value: unknown): unknown {
  const encode = (text: string) => new Uint8Array(Buffer.from(text));
  return { metadata: { encoding: encode('json/plain') }, data: encode(JSON.stringify(value)) };
}

function duration(text: string, where: string): unknown {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?s$/.exec(text);
  if (match === null) throw unreadable(where, `is not a duration: ${text}`);
  const sign = match[1] === '-' ? -1 : 1;
  return {
    seconds: sign * Number(match[2]),
    nanos: sign * Number((match[3] ?? '').padEnd(9, '0')),
  };
}

function timestamp(text: string, where: string): unknown {
  const match = /^(.*:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const ms = match === null ? NaN : Date.parse(`${match[1]}${match[3]}`);
  if (match === null || Number.isNaN(ms)) throw unreadable(where, `is not a time: ${text}`);
  return { seconds: ms / 1000, nanos: Number((match[2] ?? '').padEnd(9, '0')) };
}

/** A name without case and underscores, so that all spellings of it are equal. */
function bare(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unreadable(where: string, why: string): AtollError {
  return new AtollError('invalid-argument', `${where.replace(/^\./, '') || 'the message'} ${why}`);
}
