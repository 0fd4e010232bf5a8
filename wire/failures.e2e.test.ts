/** The official TypeScript client against a server of ours that answers with errors: does it recognise them? */
import {
  Client,
  Connection,
  QueryNotRegisteredError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { afterEach, expect, test } from 'vitest';
import type { AtollError } from '../kernel/errors.ts';
import { RpcServer } from '../kernel/rpc/server.ts';
import * as failures from './failures.ts';
import { encodeResponse, methodOf } from './services.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A client of a server that answers GetSystemInfo, and every other call with that error. */
async function clientOf(error: AtollError): Promise<Client> {
  const server = new RpcServer({
    encodeDetails: failures.encodeStatusDetails,
    handle: (call) => {
      const method = methodOf(call.path);
      if (method.name !== 'GetSystemInfo') return Promise.reject(error);
      return Promise.resolve(encodeResponse(method, { serverVersion: '1.32.0', capabilities: {} }));
    },
  });
  cleanups.push(() => server.close({ graceMs: 200 }));
  const { host, port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const connection = await Connection.connect({ address: `${host}:${port}` });
  cleanups.push(() => connection.close());
  return new Client({ connection });
}

const start = (client: Client) =>
  client.workflow.start('type', { taskQueue: 'q', workflowId: 'w' });

test('already started', async () => {
  const client = await clientOf(
    failures.alreadyStarted({ workflowId: 'w', requestId: 'q', runId: 'r' }),
  );
  await expect(start(client)).rejects.toThrow(WorkflowExecutionAlreadyStartedError);
});

test('namespace not found', async () => {
  const client = await clientOf(failures.namespaceNotFound('default'));
  await expect(start(client)).rejects.toThrow(NamespaceNotFoundError);
});

test('workflow not found', async () => {
  const client = await clientOf(failures.notFound('workflow w is not found'));
  await expect(client.workflow.getHandle('w').signal('s')).rejects.toThrow(WorkflowNotFoundError);
});

test('query failed', async () => {
  const client = await clientOf(
    failures.queryFailed('no such query: q', { message: 'no such query' }),
  );
  const query = client.workflow.getHandle('w').query('q');
  await expect(query).rejects.toThrow(QueryNotRegisteredError);
  await expect(query).rejects.toThrow('no such query: q');
});

test('workflow not ready, with a message in any script', async () => {
  const client = await clientOf(failures.workflowNotReady('läuft nicht: 世界 100%'));
  const query = client.workflow.getHandle('w').query('q');
  await expect(query).rejects.toThrow(ServiceError);
  await expect(query).rejects.toMatchObject({
    cause: { code: 9, details: 'läuft nicht: 世界 100%' },
  });
});
