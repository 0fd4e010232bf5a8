import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import protobuf from 'protobufjs';
import { afterEach, describe, expect, it } from 'vitest';
import { REFLECTION_SERVICES } from '../wire/reflection.ts';
import { cleanups, cleanUp, fleet } from './testing/fleet.ts';
import { framed } from './testing/raw-client.ts';

const { FileDescriptorProto } = proto.google.protobuf;
const WORKFLOW_SERVICE = 'temporal.api.workflowservice.v1.WorkflowService';

/** As clients have it, written down apart from what the router uses. */
const SCHEMA = `
  syntax = "proto3";
  message Request {
    string host = 1;
    oneof message_request {
      string file_by_filename = 3;
      string file_containing_symbol = 4;
      string all_extension_numbers_of_type = 6;
      string list_services = 7;
    }
  }
  message Files { repeated bytes file_descriptor_proto = 1; }
  message Service { string name = 1; }
  message Services { repeated Service service = 1; }
  message Failure { int32 error_code = 1; string error_message = 2; }
  message Response {
    Request original_request = 2;
    oneof message_response {
      Files file_descriptor_response = 4;
      Services list_services_response = 6;
      Failure error_response = 7;
    }
  }
`;
const schema = protobuf.parse(SCHEMA).root;
const Request = schema.lookupType('Request');
const Response = schema.lookupType('Response');
type Answer = {
  originalRequest: object;
  fileDescriptorResponse?: { fileDescriptorProto: Uint8Array[] };
  listServicesResponse?: { service: { name: string }[] };
  errorResponse?: { errorCode: number; errorMessage: string };
};

afterEach(cleanUp);

describe.each(REFLECTION_SERVICES)('a client of grpc-js asks %s', (service) => {
  it('which services there are, and what one looks like, on one stream', async () => {
    const client = await connect();
    const answers = await ask(client, service, [
      { listServices: '*' },
      { fileContainingSymbol: WORKFLOW_SERVICE },
      { fileByFilename: 'google/protobuf/duration.proto' },
    ]);
    const names = answers[0]?.listServicesResponse?.service.map(({ name }) => name);
    expect(names).toEqual([
      WORKFLOW_SERVICE,
      'temporal.api.operatorservice.v1.OperatorService',
      'grpc.health.v1.Health',
      ...REFLECTION_SERVICES,
    ]);
    const files = filesIn(answers[1]);
    expect(files[0]?.service?.[0]?.method?.length).toBeGreaterThanOrEqual(123);
    expect(files.length).toBeGreaterThan(20);
    expect(filesIn(answers[2]).map((file) => file.messageType?.[0]?.name)).toEqual(['Duration']);
    expect(answers[1]?.originalRequest).toEqual({ fileContainingSymbol: WORKFLOW_SERVICE });
  });

  it('for what is not there, and hears so while the stream goes on', async () => {
    const client = await connect();
    const answers = await ask(client, service, [
      { fileContainingSymbol: 'a.b.C' },
      { fileByFilename: 'a.proto' },
      { allExtensionNumbersOfType: 'a.b.C' },
      {},
      { listServices: '' },
    ]);
    expect(answers.map(({ errorResponse }) => errorResponse?.errorCode)).toEqual([
      ...[5, 5, 5, 3],
      undefined,
    ]);
    expect(answers[0]?.errorResponse?.errorMessage).toContain('symbol a.b.C');
  });

  it('much at once, and is answered in order, though the answers pile up', async () => {
    const client = await connect();
    const questions = Array.from({ length: 60 }, (_, i) =>
      i % 2 === 0 ? { fileContainingSymbol: WORKFLOW_SERVICE } : { fileByFilename: `${i}.proto` },
    );
    const answers = await ask(client, service, questions);
    expect(answers.map(({ originalRequest }) => originalRequest)).toEqual(questions);
  });

  it('and hears UNAVAILABLE when the router stops', async () => {
    const { router } = await fleet();
    const client = connectTo(router.address.port);
    const stream = client.makeBidiStreamRequest(path(service), toBytes, fromBytes, undefined);
    const ended = new Promise<ServiceError>((resolve) => stream.on('error', resolve));
    stream.write({ listServices: '*' });
    await new Promise((resolve) => stream.once('data', resolve));
    await router.close();
    expect(await ended).toMatchObject({
      code: 14,
      details: expect.stringMatching(/shutting down/),
    });
  });
});

describe('a stream of reflection', () => {
  const rows: readonly [string, Buffer, Record<string, string>, string, RegExp][] = [
    ['of what is no question', framed(Buffer.from([0xff])), {}, '3', /malformed/],
    ['of a question too long', Buffer.from([0, 0, 1, 0, 0]), {}, '8', /65536 bytes/],
    ['that is cut short', framed(Buffer.alloc(9)).subarray(0, 7), {}, '3', /within a question/],
    ['in an unknown encoding', framed(Buffer.alloc(1)), { 'grpc-encoding': 'br' }, '12', /gzip/],
  ];
  it.each(rows)('%s is refused', async (_, body, headers, status, message) => {
    const { client } = await fleet();
    const answer = await client.call(path(REFLECTION_SERVICES[0]), body, { headers });
    expect(answer.trailers['grpc-status']).toBe(status);
    expect(decodeURIComponent(String(answer.trailers['grpc-message']))).toMatch(message);
  });
});

async function connect(): Promise<Client> {
  const { router } = await fleet();
  return connectTo(router.address.port);
}

function connectTo(port: number): Client {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  cleanups.push(() => client.close());
  return client;
}

/** Asks one after another on one stream, and ends it. */
async function ask(client: Client, service: string, questions: object[]): Promise<Answer[]> {
  const stream = client.makeBidiStreamRequest(path(service), toBytes, fromBytes, undefined);
  const answers: Answer[] = [];
  const ended = new Promise<{ code: number }>((resolve, reject) => {
    stream.on('status', resolve);
    stream.on('error', reject);
  });
  stream.on('data', (answer: Answer) => answers.push(answer));
  for (const question of questions) stream.write(question);
  stream.end();
  expect((await ended).code).toBe(0);
  return answers;
}

function path(service: string): string {
  return `/${service}/ServerReflectionInfo`;
}

function toBytes(question: object): Buffer {
  return Buffer.from(Request.encode(Request.create(question)).finish());
}

function fromBytes(bytes: Buffer): Answer {
  return Response.toObject(Response.decode(bytes)) as Answer;
}

function filesIn(answer: Answer | undefined) {
  const files = answer?.fileDescriptorResponse?.fileDescriptorProto ?? [];
  return files.map((bytes) => FileDescriptorProto.decode(bytes));
}
