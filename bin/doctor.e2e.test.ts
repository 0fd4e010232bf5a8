import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import { encodeFleetMap } from '../fleet/codec.ts';
import { twoCells } from '../fleet/conformance/sample.ts';
import { checkNode } from './doctor-machine.ts';
import { examine, report } from './doctor.ts';

const database = useTestServer();
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'atoll-doctor-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const at = { host: '127.0.0.1', port: 0 };

test('a machine that is fine is told so, and the database is described', async () => {
  const fleet = join(folder, 'not-yet');
  const findings = await examine({ ...at, fleet, postgresUrl: database.url('doctor') });
  const text = report(findings);
  expect(text).toContain('Nothing is wrong.');
  expect(text).toMatch(/database: PostgreSQL 15/);
  expect(text).toMatch(/clock of the database: -?\d+ ms/);
  expect(text).toMatch(/skipped cell of the database/);
  expect(text).toMatch(/skipped shards of the database/);
});

test('what is wrong is named with what to do, and no password is shown', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as AddressInfo;
  const fleet = join(folder, 'fleet');
  await mkdir(fleet);
  await writeFile(join(fleet, '000000000003.json'), encodeFleetMap(twoCells('orders')));
  const postgresUrl = 'postgres://atoll:secret-word@127.0.0.1:9/none';
  const text = report(await examine({ ...at, port, fleet, postgresUrl }));
  taken.close();
  expect(text).toMatch(/WRONG .*port .*in use.*--port/);
  expect(text).toMatch(/WRONG .*cell east at 127.0.0.1:1: it does not answer/);
  expect(text).toMatch(/WRONG .*database/);
  expect(text).not.toContain('secret-word');
});

test('a damaged fleet map is named', async () => {
  const fleet = join(folder, 'damaged');
  await mkdir(fleet);
  await writeFile(join(fleet, '000000000003.json'), '{"format":');
  const text = report(await examine({ ...at, fleet, postgresUrl: '' }));
  expect(text).toMatch(/WRONG .*fleet folder .*damaged/);
});

test.each([
  ['20.20.0', 'fine'],
  ['20.19.9', 'wrong'],
  ['22.1.0', 'fine'],
])('Node %s is %s', (version, state) => {
  expect(checkNode(version).state).toBe(state);
});
