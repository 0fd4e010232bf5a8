/** Two cells, an admin and an operator, all under mTLS: the cells replicate, move and fail over as in cleartext. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import { systemClock } from '../kernel/clock.ts';
import { Lifecycle } from '../kernel/lifecycle.ts';
import { silentLog } from '../kernel/log.ts';
import { runAdmin } from './admin.ts';
import { runCell } from './cell.ts';
import { examine } from './doctor.ts';
import { runRouter } from './router.ts';
import { Authority, type Signed } from './testing/certificates.ts';
import { operator, type OperatorRun } from './testing/operator.ts';

const database = useTestServer();
const NAMESPACE = 'orders';

describe('two cells under mTLS', () => {
  const lifecycles: Lifecycle[] = [];
  let folder = '';
  let ours: Authority;
  let peer: Signed;
  let server: Signed;
  let atoll: (line: string) => Promise<OperatorRun>;
  let admin = '';
  let client: Connection;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atoll-peer-tls-'));
    ours = new Authority(folder, 'ours');
    [server, peer] = [ours.sign('server'), ours.sign('peer')];
    await startCell('a', toCells());
    await startCell('b', toCells());
    const at = { host: '127.0.0.1', port: 0, fleet: fleet(), ...port(), ...toCells() };
    admin = (await runAdmin(at, parts())).address;
    const router = await runRouter(at, parts());
    atoll = operator(admin, adminTls(ours.ca));
    const tls = {
      serverRootCACertificate: await readFile(ours.ca),
      clientCertPair: { crt: await readFile(peer.cert), key: await readFile(peer.key) },
    };
    client = await Connection.connect({ address: `localhost:${router.address.port}`, tls });
  }, 90_000);

  afterAll(async () => {
    await client?.close();
    for (const lifecycle of lifecycles.toReversed()) await lifecycle.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  test('an operator makes a namespace with a replica, and what is written reaches it', async () => {
    const made = await atoll(`namespace create ${NAMESPACE} --region a --replica b`);
    expect(made).toMatchObject({ code: 0, err: '' });
    for (const workflowId of ['tls-1', 'tls-2', 'tls-3']) await start(workflowId);
    const verified = await atoll(`move verify ${NAMESPACE} --against b --repair`);
    expect(verified).toMatchObject({ code: 0, out: expect.stringMatching(/3 compared/) });
  }, 30_000);

  test('a move there goes through, and a failover back', async () => {
    const moved = await atoll(`move start ${NAMESPACE} --to b --confirm --wait`);
    expect(moved).toMatchObject({ code: 0 });
    await start('tls-4');
    const over = await atoll(`failover ${NAMESPACE} --to a --force`);
    expect(over).toMatchObject({ code: 0 });
  }, 60_000);

  test('an operator without the authority is told which flags are missing, or what is wrong with them', async () => {
    const bare = await operator(admin)('fleet show');
    expect(bare).toMatchObject({ code: 1, err: expect.stringContaining('--admin-tls-ca') });
    const strange = new Authority(folder, 'strangers');
    const wrong = await operator(admin, adminTls(strange.ca))('fleet show');
    expect(wrong.code).toBe(1);
    const missing = await operator(admin, adminTls(join(folder, 'none.pem')))('fleet show');
    expect(missing.err).toMatch(/--admin-tls-ca .*cannot be read/);
  }, 30_000);

  test('a cell whose certificate for others cannot work is refused at its start', async () => {
    const late = ours.sign('late', -1);
    const flags = { cellTlsCa: ours.ca, cellTlsCert: late.cert, cellTlsKey: late.key };
    await expect(startCell('c', flags)).rejects.toThrow(/--cell-tls-cert .*expired/);
  });

  test('atoll doctor finds that the port of a cell is under TLS and its calls to others are not', async () => {
    const at = { host: '127.0.0.1', port: 0, fleet: fleet(), postgresUrl: '' };
    const bare = await examine({ ...at, ...port() });
    const found = bare.find(({ what }) => what === 'TLS to cells');
    expect(found).toMatchObject({ state: 'wrong', says: expect.stringMatching(/--cell-tls-ca/) });
    const told = await examine({ ...at, ...port(), ...toCells() });
    expect(told.filter(({ what }) => what.startsWith('cell '))).toMatchObject([
      { state: 'fine' },
      { state: 'fine' },
    ]);
    expect(told.find(({ what }) => what === 'TLS to cells')).toBeUndefined();
  }, 30_000);

  function startCell(cellId: string, flags: object) {
    const url = { postgresUrl: database.url(`peer_tls_${cellId}`), fleet: fleet() };
    const at = { host: '127.0.0.1', port: 0, advertise: 'localhost', shards: 2 };
    return runCell({ cellId, region: cellId, ...at, ...url, ...port(), ...flags }, parts());
  }

  function start(workflowId: string) {
    const workflowType = { name: 'w' };
    const taskQueue = { name: 'q' };
    const request = { namespace: NAMESPACE, workflowId, requestId: workflowId };
    return client.workflowService.startWorkflowExecution({ ...request, workflowType, taskQueue });
  }

  function parts() {
    const lifecycle = new Lifecycle({ clock: systemClock, log: silentLog });
    lifecycles.push(lifecycle);
    return { lifecycle, log: silentLog };
  }

  const fleet = () => join(folder, 'fleet');
  const port = () => ({ tlsCert: server.cert, tlsKey: server.key, tlsClientCa: ours.ca });
  const toCells = () => {
    return { cellTlsCa: ours.ca, cellTlsCert: peer.cert, cellTlsKey: peer.key };
  };
  const adminTls = (ca: string) => ({
    ATOLL_ADMIN_TLS_CA: ca,
    ATOLL_ADMIN_TLS_CERT: peer.cert,
    ATOLL_ADMIN_TLS_KEY: peer.key,
  });
});
