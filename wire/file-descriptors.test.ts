import proto from '@temporalio/proto';
import type protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { fileOfSymbol, fileWithItsNeeds, isMessage } from './file-descriptors.ts';
import { REFLECTION_SERVICES } from './reflection.ts';

const { FileDescriptorProto } = proto.google.protobuf;
const contract = proto as unknown as protobuf.Root;
type File = proto.google.protobuf.IFileDescriptorProto;
type Message = proto.google.protobuf.IDescriptorProto;

const WORKFLOW = 'temporal.api.workflowservice.v1.WorkflowService';
const SERVICES = [
  WORKFLOW,
  'temporal.api.operatorservice.v1.OperatorService',
  'grpc.health.v1.Health',
  ...REFLECTION_SERVICES,
];

describe('the files of the contract', () => {
  test.each(SERVICES)('%s comes with every file that it needs, without a circle', async (name) => {
    const files = await filesOf(fileOfSymbol(name) ?? '');
    const byName = new Map(files.map((file) => [file.name ?? '', file]));
    expect(byName.size).toBe(files.length);
    const known = new Map(files.map((file) => [file.name ?? '', new Set(typesIn(file))]));
    for (const file of files) {
      const reach = [file.name ?? '', ...(file.dependency ?? [])];
      const visible = new Set(reach.flatMap((one) => [...(known.get(one) ?? [])]));
      expect(typesNamedIn(file).filter((type) => !visible.has(type))).toEqual([]);
    }
    expect(circleFrom(files[0]?.name ?? '', byName)).toBe(false);
  });

  test('have the names and numbers of the contract itself, at every field', async () => {
    const files = await filesOf(fileOfSymbol(WORKFLOW) ?? '');
    let fields = 0;
    for (const file of files) {
      for (const [path, message] of messagesIn(file)) {
        const there = contract.lookupType(path.slice(1));
        const oneofs = message.oneofDecl ?? [];
        const groups = Object.entries(there.oneofs ?? {});
        for (const field of message.field ?? []) {
          const original = there.fields[field.jsonName ?? ''];
          const { protoName = original?.name } = original as unknown as { protoName?: string };
          const isMember = Object.hasOwn(field, 'oneofIndex');
          const group = isMember ? oneofs[field.oneofIndex ?? -1]?.name : undefined;
          expect([path, field.name, field.number]).toEqual([path, protoName, original?.id]);
          const [its] = groups.find(([, { oneof }]) => oneof.includes(field.jsonName ?? '')) ?? [];
          expect(camel(group)).toBe(its);
          fields += 1;
        }
        expect(message.field).toHaveLength(there.fieldsArray.length);
      }
    }
    expect(fields).toBeGreaterThan(1_500);
  });

  test('call Google’s own what everybody calls them', () => {
    const names = ['Duration', 'Timestamp', 'FieldMask', 'Int64Value', 'Struct', 'Value', 'Empty'];
    expect(names.map((name) => fileOfSymbol(`google.protobuf.${name}`))).toEqual(
      ['duration', 'timestamp', 'field_mask', 'wrappers', 'struct', 'struct', 'empty'].map(
        (file) => `google/protobuf/${file}.proto`,
      ),
    );
  });

  test.each([
    [`${WORKFLOW}.StartWorkflowExecution`, 'temporal/api/workflowservice/v1/message.proto'],
    ['.temporal.api.common.v1.Payload', 'temporal/api/common/v1/message.proto'],
    ['temporal.api.common.v1.Payload.metadata', 'temporal/api/common/v1/message.proto'],
    ['temporal.api.enums.v1.EventType', 'temporal/api/enums/v1/message.proto'],
    ['temporal.api.common.v1', undefined],
    ['temporal.api.cloud.cloudservice.v1.CloudService', undefined],
    [`${WORKFLOW}.Frobnicate`, undefined],
    ['', undefined],
    ['toString', undefined],
  ])('%s stands in %s', (symbol, file) => {
    expect(fileOfSymbol(symbol)).toBe(file);
  });

  test('that are not there are not made up', async () => {
    for (const name of ['', 'x', 'message.proto', 'temporal/api/common/v1/other.proto', '/..'])
      expect(await fileWithItsNeeds(name, atOnce)).toBeUndefined();
    expect(isMessage('temporal.api.common.v1.Payload')).toBe(true);
    expect(isMessage(WORKFLOW)).toBe(false);
  });
});

const atOnce = () => Promise.resolve();

async function filesOf(name: string): Promise<readonly File[]> {
  const files = (await fileWithItsNeeds(name, atOnce)) ?? [];
  expect(files.length).toBeGreaterThan(0);
  return files.map((bytes) => FileDescriptorProto.decode(bytes));
}

/** Path of each message, from a dot on. */
function messagesIn(file: File): [string, Message][] {
  const inside = (path: string, messages: readonly Message[]): [string, Message][] =>
    messages
      .filter((one) => one.options?.mapEntry !== true)
      .flatMap((one) => [
        [`${path}.${one.name}`, one],
        ...inside(`${path}.${one.name}`, one.nestedType ?? []),
      ]);
  return inside(`.${file.package}`, file.messageType ?? []);
}

function typesIn(file: File): string[] {
  const enums = (file.enumType ?? []).map(({ name }) => `.${file.package}.${name}`);
  const inner = messagesIn(file).flatMap(([path, { nestedType, enumType }]) =>
    [...(nestedType ?? []), ...(enumType ?? [])].map(({ name }) => `${path}.${name}`),
  );
  return [...enums, ...inner, ...messagesIn(file).map(([path]) => path)];
}

function typesNamedIn(file: File): string[] {
  const messages = messagesIn(file).flatMap(([, message]) => [
    message,
    ...(message.nestedType ?? []).filter((one) => one.options?.mapEntry === true),
  ]);
  const fields = messages.flatMap(({ field }) => field ?? []).map(({ typeName }) => typeName);
  const methods = (file.service ?? []).flatMap(({ method }) => method ?? []);
  const ends = methods.flatMap(({ inputType, outputType }) => [inputType, outputType]);
  return [...fields, ...ends].filter((name): name is string => Boolean(name));
}

function circleFrom(name: string, files: ReadonlyMap<string, File>, above: string[] = []): boolean {
  if (above.includes(name)) return true;
  const needs = files.get(name)?.dependency ?? [];
  return needs.some((need) => circleFrom(need, files, [...above, name]));
}

function camel(name: string | null | undefined): string | undefined {
  return name?.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
