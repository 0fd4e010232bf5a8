import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection, type ConnectionOptions } from '@temporalio/client';
import protobuf from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import { systemClock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import { Lifecycle } from '../kernel/lifecycle.ts';
import { silentLog } from '../kernel/log.ts';
import { runCell } from './cell.ts';
import type { Finding } from './doctor-finding.ts';
import { examine } from './doctor.ts';
import { runRouter } from './router.ts';
import { Authority, type Signed } from './testing/certificates.ts';

const database = useTestServer();
const namespace = 'orders';
const WORKER_TOKEN = 'a-token-of-a-worker';

describe('a cell and a router under mTLS, with rights', () => {
  const lifecycle = new Lifecycle({ clock: systemClock, log: silentLog });
  const ports = { lifecycle, log: silentLog };
  let folder = '';
  let ours: Authority;
  let others: Authority;
  let server: Signed;
  let clerk: Signed;
  let address = '';
  let cellAddress = '';
  const open: Connection[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atoll-tls-'));
    ours = new Authority(folder, 'ours');
    others = new Authority(folder, 'others');
    server = ours.sign('server');
    clerk = ours.sign('clerk');
    const fleet = join(folder, 'fleet');
    const rights = join(folder, 'rights.json');
    const hash = createHash('sha256').update(WORKER_TOKEN).digest('hex');
    const document = {
      callers: [
        {
          name: 'clerk',
          certificates: ['clerk'],
          allow: { [namespace]: ['read', 'write', 'admin'], second: ['admin'] },
        },
        { name: 'worker', tokenSha256: [hash], allow: { [namespace]: ['work'] } },
      ],
      routers: ['router'],
    };
    await writeFile(rights, JSON.stringify(document));
    const tls = { tlsCert: server.cert, tlsKey: server.key, tlsClientCa: ours.ca, rights };
    const at = { host: '127.0.0.1', port: 0, fleet, ...tls };
    const url = database.url('under_tls');
    const cell = await runCell(
      { cellId: 'a', region: 'r', shards: 4, postgresUrl: url, ...at, advertise: 'localhost' },
      ports,
    );
    cellAddress = cell.address;
    const router = ours.sign('router');
    const toCells = { cellTlsCa: ours.ca, cellTlsCert: router.cert, cellTlsKey: router.key };
    // Another lifecycle: parts of one process have names of their own.
    const running = await runRouter({ ...at, ...toCells }, { ...ports, lifecycle: routerLife });
    address = `127.0.0.1:${running.address.port}`;
    const { workflowService } = await connect(address, clerk);
    const retention = protobuf.google.protobuf.Duration.fromObject({ seconds: 3 * 86_400 });
    const registration = { namespace, workflowExecutionRetentionPeriod: retention };
    await workflowService.registerNamespace(registration);
  }, 60_000);
  const routerLife = new Lifecycle({ clock: systemClock, log: silentLog });

  afterAll(async () => {
    for (const connection of open) await connection.close();
    await routerLife.stop();
    await lifecycle.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('a client with a certificate that we signed starts and reads workflows, through the router', async () => {
    const { workflowService } = await connect(address, clerk);
    const { runId } = await workflowService.startWorkflowExecution(start('tls-1'));
    const found = await workflowService.describeWorkflowExecution({
      namespace,
      execution: { workflowId: 'tls-1' },
    });
    expect(found.workflowExecutionInfo?.execution?.runId).toBe(runId);
  });

  test('a client without one, or with one of strangers, does not get in', async () => {
    await expect(connect(address, undefined)).rejects.toThrow();
    await expect(connect(address, others.sign('clerk'))).rejects.toThrow();
    await expect(connect(address, ours.sign('late-clerk', -1))).rejects.toThrow();
  });

  test('a caller may what its rights say, and nothing else', async () => {
    const { workflowService: byClerk } = await connect(address, clerk);
    const taskQueue = { name: 'q' };
    await expect(byClerk.pollWorkflowTaskQueue({ namespace, taskQueue })).rejects.toThrow(
      /PERMISSION_DENIED.*clerk may not work/,
    );
    await expect(byClerk.listWorkflowExecutions({ namespace: 'second' })).rejects.toThrow(
      /NOT_FOUND|PERMISSION_DENIED/,
    );
    const { namespaces } = await byClerk.listNamespaces({});
    expect(namespaces.map((one) => one.namespaceInfo?.name)).toEqual([namespace]);

    const worker = { Authorization: `Bearer ${WORKER_TOKEN}` };
    const { workflowService: byWorker } = await connect(address, ours.sign('nobody'), worker);
    await expect(byWorker.startWorkflowExecution(start('tls-2'))).rejects.toThrow(
      /PERMISSION_DENIED.*worker may not write/,
    );
    await expect(byWorker.registerNamespace({ namespace: 'third' })).rejects.toThrow(
      /PERMISSION_DENIED.*worker may not admin/,
    );
    const { workflowService: byNobody } = await connect(address, ours.sign('nobody'));
    await expect(byNobody.startWorkflowExecution(start('tls-3'))).rejects.toThrow(
      /UNAUTHENTICATED/,
    );
  });

  test('a client that calls the cell and says it is another is not believed', async () => {
    const spoof = { 'atoll-caller-certificate': 'clerk' };
    const { workflowService } = await connect(cellAddress, ours.sign('nobody'), spoof);
    await expect(workflowService.startWorkflowExecution(start('tls-4'))).rejects.toThrow(
      /UNAUTHENTICATED/,
    );
    const { workflowService: throughRouter } = await connect(address, ours.sign('nobody'), spoof);
    await expect(throughRouter.startWorkflowExecution(start('tls-5'))).rejects.toThrow(
      /UNAUTHENTICATED/,
    );
  });

  test('atoll doctor asks the cell as a router does, and says what is missing when it is told less', async () => {
    const router = ours.sign('router');
    const toCells = { cellTlsCa: ours.ca, cellTlsCert: router.cert, cellTlsKey: router.key };
    const at = { host: '127.0.0.1', port: 0, fleet: join(folder, 'fleet'), postgresUrl: '' };
    const told = await examine({ ...at, ...toCells });
    expect(sayingOf(told, 'cell a at')).toMatch(/^fine it serves over TLS/);
    expect(sayingOf(await examine(at), 'cell a at')).toMatch(/^wrong .*cleartext.*--cell-tls-ca/);
    const strangers = { cellTlsCa: others.ca, cellTlsCert: router.cert, cellTlsKey: router.key };
    expect(sayingOf(await examine({ ...at, ...strangers }), 'cell a at')).toMatch(
      /^wrong .*over TLS.*authority/,
    );
    const noKey = await examine({ ...at, tlsCert: server.cert });
    expect(sayingOf(noKey, 'who may call')).toMatch(/^wrong --tls-cert and --tls-key go together/);
    const soon = ours.sign('soon', 3);
    const mtls = { tlsCert: soon.cert, tlsKey: soon.key, tlsClientCa: ours.ca };
    expect(sayingOf(await examine({ ...at, ...mtls }), 'who may call')).toMatch(
      /^wrong TLS, callers show a certificate.*expires soon.*days [23]/,
    );
  });

  test('certificates that cannot work are refused at the start, with the flag and what to do', async () => {
    const expired = ours.sign('late', -1);
    const rows: [Record<string, unknown>, RegExp][] = [
      [{ tlsCert: expired.cert, tlsKey: expired.key }, /--tls-cert .*expired on .*put a new one/],
      [{ tlsCert: join(folder, 'none.pem'), tlsKey: server.key }, /--tls-cert .*cannot be read/],
      [{ tlsCert: server.cert }, /--tls-cert and --tls-key go together/],
      [{ tlsCert: server.cert, tlsKey: clerk.key }, /does not belong/],
      [{ tlsCert: server.key, tlsKey: server.key }, /not a certificate/],
      [{ tlsClientCa: ours.ca }, /needs --tls-cert/],
      [{ cellTlsCert: server.cert, cellTlsKey: server.key }, /--cell-tls-ca/],
      [{ rights: join(folder, 'none.json') }, /--rights .*none.json/],
      [{ host: '0.0.0.0' }, /--allow-all/],
      [{ host: '0.0.0.0', tlsCert: server.cert, tlsKey: server.key }, /--tls-client-ca/],
    ];
    for (const [wrong, message] of rows) {
      const options = { host: '127.0.0.1', port: 0, fleet: join(folder, 'other'), ...wrong };
      const error: unknown = await runRouter(options, ports).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(AtollError);
      expect((error as AtollError).message).toMatch(message);
    }
  });

  function sayingOf(findings: readonly Finding[], what: string): string {
    const found = findings.find((one) => one.what.startsWith(what));
    return `${found?.state} ${found?.says}`;
  }

  function start(workflowId: string) {
    const workflowType = { name: 'w' };
    return { namespace, workflowId, requestId: 'r', workflowType, taskQueue: { name: 'q' } };
  }

  async function connect(
    to: string,
    as: Signed | undefined,
    metadata: Record<string, string> = {},
  ): Promise<Connection> {
    const pair = as && { crt: await readFile(as.cert), key: await readFile(as.key) };
    const tls = {
      serverRootCACertificate: await readFile(ours.ca),
      ...(pair === undefined ? {} : { clientCertPair: pair }),
    };
    const options: ConnectionOptions = { address: to, tls, metadata, connectTimeout: 3_000 };
    const connection = await Connection.connect(options);
    open.push(connection);
    return connection;
  }
});
