import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../kernel/testing/virtual-clock.ts';
import type { RunImage } from '../../cell/shard/replicas/replicas.ts';
import { Receiver } from './receiver.ts';
import { SourceReports } from './source-reports.ts';
import { encodeImage, encodeReplicatedStep } from '../step-codec.ts';
import { FakeReplicas } from '../testing/fake-replicas.ts';
import { namespaceOf, StubMap } from '../testing/stub-map.ts';
import { NS, runRef } from '../testing/two-cells.ts';

const signal = new AbortController().signal;

function step(change: { namespaceId?: string; number?: number; epoch?: number } = {}): Uint8Array {
  const changes = [{ kind: 'start-request', requestId: 'x' } as const];
  const transition = { ...runRef(1), number: 1, epoch: 1, at: 5, changes, ...change };
  return encodeReplicatedStep({ transition, events: new Uint8Array(0) });
}

describe('the receiver', () => {
  let map: StubMap;
  let replicas: FakeReplicas;
  let receiver: Receiver;
  beforeEach(() => {
    const clock = new VirtualClock();
    map = new StubMap([namespaceOf(NS), namespaceOf('ns-2', { replicas: ['a', 'c'] })]);
    replicas = new FakeReplicas(2, () => clock.now());
    receiver = new Receiver({ cellId: 'b', map, replicas, reports: new SourceReports(clock) });
  });
  const push = (namespaceId: string, ...steps: Uint8Array[]) =>
    receiver.steps('a', { namespaceId, steps, pending: 0 }, signal);
  const image = async (namespaceId: string): Promise<Uint8Array> => {
    const other = new FakeReplicas(1, () => 0);
    other.write(runRef(1, namespaceId), { epoch: 1, text: 'x' });
    return encodeImage(await other.image(runRef(1, namespaceId)));
  };
  const untouched = () => expect(replicas.dump()).toEqual({});

  it('applies steps of a namespace that both cells keep', async () => {
    expect(await push(NS, step(), step({ number: 2 }))).toEqual([
      { kind: 'applied' },
      { kind: 'applied' },
    ]);
    expect(await push(NS, step())).toEqual([{ kind: 'known' }]);
  });

  it.each([
    ['a namespace that this cell does not keep', 'ns-2', 'a'],
    ['a namespace that the source does not keep', NS, 'c'],
    ['a namespace that is unknown', 'ns-9', 'a'],
    ['its own steps', NS, 'b'],
  ])('refuses steps, images, questions and reports of %s', async (_, namespaceId, source) => {
    const refused = { code: 'failed-precondition' };
    const steps = [step({ namespaceId })];
    const images = [await image(namespaceId)];
    const runs = [runRef(1, namespaceId)];
    await expect(
      receiver.steps(source, { namespaceId, steps, pending: 0 }, signal),
    ).rejects.toMatchObject(refused);
    await expect(
      receiver.images(source, { namespaceId, images, repair: false }, signal),
    ).rejects.toMatchObject(refused);
    const digests = { namespaceId, runs, recompute: false };
    await expect(receiver.digests(source, digests, signal)).rejects.toMatchObject(refused);
    const page = { namespaceId, shard: 0, limit: 10 };
    await expect(receiver.runs(source, page, signal)).rejects.toMatchObject(refused);
    untouched();
  });

  it('refuses a call whose steps, images or runs are of another namespace, whole', async () => {
    const refused = { code: 'permission-denied' };
    await expect(push(NS, step(), step({ namespaceId: 'ns-2' }))).rejects.toMatchObject(refused);
    const images = [await image('ns-2')];
    await expect(
      receiver.images('a', { namespaceId: NS, images, repair: false }, signal),
    ).rejects.toMatchObject(refused);
    const digests = { namespaceId: NS, runs: [runRef(1, 'ns-2')], recompute: false };
    await expect(receiver.digests('a', digests, signal)).rejects.toMatchObject(refused);
    untouched();
  });

  it('takes nothing of an epoch that its map has not reached, and looks at the map again first', async () => {
    await expect(push(NS, step({ epoch: 2 }))).rejects.toThrow('epoch 2 is above epoch 1');
    expect(map.refreshes).toBe(1);
    untouched();
    map.upstream = [namespaceOf(NS, { epoch: 2 })];
    expect(await push(NS, step({ epoch: 2 }))).toEqual([{ kind: 'applied' }]);
  });

  it('looks at its map again before it says that it keeps no copy', async () => {
    map.upstream = [namespaceOf('ns-3')];
    expect(await push('ns-3', step({ namespaceId: 'ns-3' }))).toEqual([{ kind: 'applied' }]);
  });

  it('refuses a step that cannot be read by itself', async () => {
    const unknown = step({ number: 2 });
    unknown[0] = 99;
    const outcomes = await push(NS, step(), unknown, new Uint8Array(0));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['applied', 'refused', 'refused']);
    expect(outcomes[1]).toMatchObject({ reason: expect.stringContaining('format 99') as string });
  });

  it('gives images back as they were', async () => {
    const images = [await image(NS)];
    expect(await receiver.images('a', { namespaceId: NS, images, repair: false }, signal)).toEqual([
      { kind: 'applied' },
    ]);
    const back: RunImage = await replicas.image(runRef(1));
    expect(Buffer.from(encodeImage(back))).toEqual(Buffer.from(images[0] ?? []));
  });

  it('bounds what one call may ask', async () => {
    const page = { namespaceId: NS, shard: 0, limit: 1_001 };
    await expect(receiver.runs('a', page, signal)).rejects.toThrow('at most 1000');
    await expect(receiver.runs('a', { ...page, shard: 2, limit: 1 }, signal)).rejects.toThrow(
      'does not exist',
    );
  });
});
