/** Two cells over real sockets: what travels, who may call. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../kernel/clock.ts';
import { silentLog } from '../../kernel/log.ts';
import { noMetrics } from '../../kernel/metrics.ts';
import { RpcChannel } from '../../kernel/rpc/client.ts';
import { systemRng } from '../../kernel/rng.ts';
import { RpcServer } from '../../kernel/rpc/server.ts';
import { TokenKeyRing } from '../../wire/signed-token.ts';
import { GATE, LANE, PROBE, PUSH_STEPS } from '../../wire/atoll/replication.ts';
import { CellControlClient } from '../control/cell-control-client.ts';
import { ServedCellControl } from '../control/cell-control.ts';
import { replicationConfig } from '../config.ts';
import { ImageParts } from '../receiver/image-parts.ts';
import { LaneSender } from '../lanes/lane-sender.ts';
import { LossRecorder } from '../losses/loss-recorder.ts';
import { MemoryDeadLetters } from '../memory/dead-letters.ts';
import { MemoryLosses } from '../memory/losses.ts';
import { Receiver } from '../receiver/receiver.ts';
import { SourceReports } from '../receiver/source-reports.ts';
import { FakeReplicas } from '../testing/fake-replicas.ts';
import { namespaceOf, StubMap } from '../testing/stub-map.ts';
import { NS, runRef } from '../testing/two-cells.ts';
import { SIGNATURE_HEADER, signCall, type Caller } from './call-signature.ts';
import { CellCalls } from './cell-calls.ts';
import { isReplicationPath, replicationRpcHandler } from './handler.ts';
import { PeerClient } from './peer-client.ts';

const ring = new TokenKeyRing({ current: 1, keys: [{ id: 1, secret: systemRng.bytes(32) }] });
const config = replicationConfig({ imagePartBytes: 100, probeEveryMs: 50 });
const clock = systemClock;
const map = new StubMap([namespaceOf(NS)]);
const signal = new AbortController().signal;

async function startCell(cellId: string, shards: number) {
  const replicas = new FakeReplicas(shards, () => clock.now());
  const calls = new CellCalls({ caller: { role: 'cell', name: cellId }, map, tokens: ring, clock });
  const ports = { clock, rng: systemRng, log: silentLog, config };
  const peerOf = (target: string) => new PeerClient(target, { calls, rng: systemRng, config });
  const sender = new LaneSender({
    ...ports,
    cellId,
    map,
    peerOf,
    deadLetters: new MemoryDeadLetters(),
    metrics: noMetrics,
  });
  const reports = new SourceReports(clock);
  const losses = new LossRecorder({ ...ports, losses: new MemoryLosses() });
  const receiver = new Receiver({ cellId, map, replicas, reports });
  const parts = { ...ports, cellId, map, replicas, sender, reports, losses, peerOf };
  const control = new ServedCellControl(parts);
  const imageParts = new ImageParts(config);
  const handle = replicationRpcHandler({
    ...ports,
    cellId,
    receiver,
    imageParts,
    control,
    tokens: ring,
  });
  const server = new RpcServer({ handle });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  return { cellId, replicas, calls, sender, losses, server, address: `127.0.0.1:${port}` };
}

type Cell = Awaited<ReturnType<typeof startCell>>;

async function until(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!condition() && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(condition()).toBe(true);
}

describe('replication over sockets', () => {
  let a: Cell;
  let b: Cell;
  let admin: CellCalls;
  beforeAll(async () => {
    a = await startCell('a', 4);
    b = await startCell('b', 3);
    const cells = Object.fromEntries(
      [a, b].map(({ cellId, address }) => [cellId, { region: 'r', address, shards: 4 }]),
    );
    map.map = { ...map.map, cells };
    a.replicas.write(runRef('old'), { epoch: 1, text: 'a text that needs parts '.repeat(40) });
    for (const cell of [a, b]) {
      cell.sender.start(cell.replicas);
      cell.replicas.open(cell.sender);
    }
    admin = new CellCalls({ caller: { role: 'admin', name: 'test' }, map, tokens: ring, clock });
  });
  afterAll(async () => {
    admin.close();
    for (const cell of [a, b]) {
      await cell.sender.close();
      cell.calls.close();
      await cell.server.close({ graceMs: 100 });
    }
  });

  it('copies, follows, probes and answers an admin', async () => {
    const control = new CellControlClient('a', admin);
    for (let i = 0; i < 20; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: `t${i}` });
    await until(() => Object.keys(b.replicas.dump()).length === 21);
    expect(b.replicas.dump()).toEqual(a.replicas.dump());
    await until(() => a.sender.status({ namespaceId: NS, target: 'b' }).kind === 'tail');
    const lane = await control.lane({ namespaceId: NS, target: 'b' }, signal);
    expect(lane).toMatchObject({ kind: 'tail', pending: 0, parked: 0, deadLetters: 0 });
    expect(lane.applied).toHaveLength(4);
    expect(lane.acknowledgedMsAgo).toBeLessThan(5_000);
    const verified = await control.verify({ namespaceId: NS, against: 'b', repair: false }, signal);
    expect(verified).toMatchObject({ compared: 21, equal: 21, differences: 0 });
    const changed = { namespaceId: NS, against: 'b', repair: false, changed: true };
    expect(await control.verify(changed, signal)).toMatchObject({ compared: 0, differences: 0 });
    const all = { namespaceId: NS, against: 'b', repair: false };
    b.replicas.damaged.set('run-3', { state: 'other' });
    expect(await control.verify(all, signal)).toMatchObject({ differences: 0 });
    expect(await control.verify({ ...all, stored: true }, signal)).toMatchObject({
      different: [{ runId: 'run-3', what: 'state' }],
    });
    b.replicas.damaged.clear();
    const estimates = () =>
      new CellControlClient('b', admin).estimateLoss({ namespaceId: NS }, signal);
    // What was pending at the last push is told until the next probe.
    await expect
      .poll(estimates, { timeout: 10_000 })
      .toMatchObject([{ source: 'a', knownMissing: 0 }]);
    await control.observe({ namespaceId: NS, revision: 1 }, signal);
    await expect(control.lane({ namespaceId: NS, target: 'z' }, signal)).rejects.toMatchObject({
      code: 'not-found',
    });
    const gate = control.gate({ namespaceId: NS, moveId: 'm', revision: 1 }, signal);
    await expect(gate).rejects.toMatchObject({ code: 'failed-precondition' });
  });

  it('carries the loss report', async () => {
    const execution = {
      workflowId: 'w',
      runId: 'r',
      outcome: 'rolled-back',
      transitions: { from: 2, to: 3, epoch: 1 },
      rolledBack: ['WorkflowExecutionSignaled'],
      reapplied: ['go'],
      mayHaveRunTwice: [],
    } as const;
    void a.losses.keep({ namespaceId: NS, epoch: 2, execution });
    const report = await new CellControlClient('a', admin).lossReport({ namespaceId: NS }, signal);
    expect(report).toEqual({ namespaceId: NS, epoch: 2, executions: [execution], omitted: 0 });
  });

  const CELL: Caller = { role: 'cell', name: 'a' };
  const body = PROBE.request.encode({ backlogs: [] });
  const good = () => ({ path: PROBE.path, body, to: 'b', now: clock.now() });
  const strange = new TokenKeyRing({ current: 1, keys: [{ id: 1, secret: systemRng.bytes(32) }] });

  it.each<[string, string, string | undefined, string]>([
    ['is not signed', PROBE.path, undefined, 'unauthenticated'],
    ['is signed by another fleet', PROBE.path, signCall(strange, CELL, good()), 'unauthenticated'],
    [
      'carries a task token',
      PROBE.path,
      Buffer.from(ring.seal(1, body)).toString('base64'),
      'unauthenticated',
    ],
    [
      'is signed for another cell',
      PROBE.path,
      signCall(ring, CELL, { ...good(), to: 'c' }),
      'unauthenticated',
    ],
    [
      'is signed for another method',
      PUSH_STEPS.path,
      signCall(ring, CELL, good()),
      'unauthenticated',
    ],
    [
      'is signed for another body',
      PROBE.path,
      signCall(ring, CELL, { ...good(), body: new Uint8Array(3) }),
      'unauthenticated',
    ],
    [
      'was signed long ago',
      PROBE.path,
      signCall(ring, CELL, { ...good(), now: clock.now() - 600_000 }),
      'unauthenticated',
    ],
    [
      'asks for control as a cell',
      LANE.path,
      signCall(ring, CELL, { ...good(), path: LANE.path }),
      'permission-denied',
    ],
    [
      'closes a namespace as a cell',
      GATE.path,
      signCall(ring, CELL, { ...good(), path: GATE.path }),
      'permission-denied',
    ],
    [
      'pushes as an admin',
      PROBE.path,
      signCall(ring, { role: 'admin', name: 'x' }, good()),
      'permission-denied',
    ],
    [
      'names an unknown method',
      '/atoll.replication.v1.Replication/Erase',
      undefined,
      'unimplemented',
    ],
  ])('refuses a call that %s', async (_, path, signature, code) => {
    const channel = new RpcChannel(b.address, { sessions: 1 });
    const headers = signature === undefined ? {} : { [SIGNATURE_HEADER]: signature };
    const call = channel.call(path, headers, body, { timeoutMs: 5_000 });
    await expect(call).rejects.toMatchObject({ code });
    channel.close();
  });

  it('knows its paths', () => {
    expect(isReplicationPath(PROBE.path)).toBe(true);
    expect(isReplicationPath('/temporal.api.workflowservice.v1.WorkflowService/X')).toBe(false);
  });
});
