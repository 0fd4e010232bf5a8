/** One run that the target cannot take: those beside it go on. */
import { afterEach, describe, expect, it } from 'vitest';
import type { RunImage } from '../../cell/shard/replicas/replicas.ts';
import { sleep } from '../../kernel/clock.ts';
import { AtollError, type ErrorCode } from '../../kernel/errors.ts';
import { imagesMs } from '../config.ts';
import { namespaceOf } from '../testing/stub-map.ts';
import { NS, runRef, TwoCells } from '../testing/two-cells.ts';

const RUNS = 200;
const every = (count: number) => Array.from({ length: count }, (_, i) => i);

describe('a lane', () => {
  let cells: TwoCells;
  const make = (options: ConstructorParameters<typeof TwoCells>[0] = {}) => {
    cells = new TwoCells(options);
    return cells;
  };
  afterEach(() => cells.close());

  /** All runs wait for their images, each of 2 transitions. */
  const awaitImages = async (count: number) => {
    const { a, b } = cells;
    await cells.settle();
    for (const i of every(count)) a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    await cells.settle();
    for (const i of every(count)) b.replicas.forget(runRef(i));
    for (const i of every(count)) a.replicas.write(runRef(i), { epoch: 1, text: 'y' });
  };
  const whole = () => every(RUNS).filter((i) => cells.b.replicas.have(`run-${i}`) === 2).length;
  /** The target cannot take what is of this run. */
  const refuseImages = (runId: string, code: ErrorCode) => {
    const { replicas } = cells.b;
    const adopt = replicas.adopt.bind(replicas);
    replicas.adopt = async (image: RunImage) => {
      if (image.state.runId === runId) throw new AtollError(code, `not ${runId}`);
      return adopt(image);
    };
    return () => {
      replicas.adopt = adopt;
    };
  };

  it('brings the images of other runs while one cannot be taken for now, and that one once it can', async () => {
    make();
    await awaitImages(0);
    const heal = refuseImages('run-0', 'unavailable');
    await awaitImages(RUNS);
    await cells.clock.advanceSettled(10_000);
    expect(whole()).toBe(RUNS - 1);
    expect(cells.status()).toMatchObject({ kind: 'tail', pending: 1, parked: 0 });
    heal();
    await cells.clock.advanceSettled(6_000);
    expect(whole()).toBe(RUNS);
    expect(cells.status()).toMatchObject({ pending: 0, deadLetters: 0 });
  });

  it('parks a run that could not be taken for long, and repairs it when it can', async () => {
    make();
    await awaitImages(0);
    const heal = refuseImages('run-0', 'unavailable');
    await awaitImages(RUNS);
    for (let i = 0; i < 300; i += 1) {
      cells.a.replicas.write(runRef('other'), { epoch: 1, text: `t${i}` });
      await cells.clock.advanceSettled(1_000);
    }
    expect(cells.status()).toMatchObject({ kind: 'tail', pending: 0, parked: 1 });
    const [letter] = await cells.a.letters.list(
      { namespaceId: NS, target: 'b' },
      { repairedToo: false, limit: 9 },
    );
    expect(letter).toMatchObject({ runId: 'run-0', reason: 'not run-0' });
    heal();
    await cells.clock.advanceSettled(600_000);
    expect([whole(), cells.status().parked]).toEqual([RUNS, 0]);
  });

  it('parks nothing while the target takes nothing at all', async () => {
    const { a, b } = make();
    await awaitImages(20);
    for (const i of every(40)) b.replicas.later.add(`run-${i}`);
    for (const i of every(40)) a.replicas.write(runRef(i), { epoch: 1, text: 'z' });
    await cells.clock.advanceSettled(400_000);
    expect(cells.status()).toMatchObject({ kind: 'tail', parked: 0, deadLetters: 0 });
    expect(cells.status().pending).toBeGreaterThan(40);
    b.replicas.later.clear();
    await cells.clock.advanceSettled(6_000);
    expect(cells.status().pending).toBe(0);
    expect(b.replicas.dump()).toEqual(a.replicas.dump());
  });

  it('parks at once a run whose image breaks there, and brings the others', async () => {
    make();
    await awaitImages(0);
    refuseImages('run-0', 'internal');
    await awaitImages(RUNS);
    await cells.clock.advanceSettled(5_000);
    expect([whole(), cells.status().parked]).toEqual([RUNS - 1, 1]);
  });

  it('finds an image that breaks a whole call, by itself', async () => {
    const { a } = make();
    await awaitImages(0);
    const { out } = a;
    const pushImages = out.pushImages.bind(out);
    out.pushImages = async (push, signal) => {
      const isIn = push.images.some((one) => Buffer.from(one).includes('run-7'));
      if (isIn) throw new AtollError('internal', 'it broke');
      return pushImages(push, signal);
    };
    await awaitImages(20);
    await cells.clock.advanceSettled(20_000);
    expect(every(20).filter((i) => cells.b.replicas.have(`run-${i}`) === 2)).toHaveLength(19);
    expect(cells.status()).toMatchObject({ pending: 0, parked: 1 });
  });

  it('brings the steps for the other shards while one of the target has stopped', async () => {
    const { a, b } = make();
    await cells.settle();
    const ids = every(3_000).map((n) => `run-${n}`);
    for (const id of ids) if (b.replicas.shardOf(id) === 0) b.replicas.later.add(id);
    for (const text of ['x', 'y']) {
      for (const i of every(3_000)) a.replicas.write(runRef(i), { epoch: 1, text });
      await cells.clock.advanceSettled(2_000);
    }
    const others = ids.filter((id) => !b.replicas.later.has(id));
    expect(others.filter((id) => b.replicas.have(id) !== 2)).toEqual([]);
    b.replicas.later.clear();
    await cells.clock.advanceSettled(8_000);
    expect(cells.status()).toMatchObject({ kind: 'tail', pending: 0, parked: 0 });
    expect(b.replicas.dump()).toEqual(a.replicas.dump());
  });

  it('ends a copy without the run that cannot be taken, which is parked', async () => {
    const { a, map } = make({ namespaces: [] });
    for (const i of every(600)) a.replicas.write(runRef(i), { epoch: 1, text: 'old' });
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    const heal = refuseImages('run-7', 'unavailable');
    map.set([namespaceOf(NS)]);
    await cells.clock.advanceSettled(30_000);
    expect(cells.status()).toMatchObject({ kind: 'tail', parked: 1 });
    expect(Object.keys(cells.b.replicas.dump())).toHaveLength(599);
    heal();
    await cells.clock.advanceSettled(60_000);
    expect(cells.status()).toMatchObject({ parked: 0, deadLetters: 0 });
    expect(cells.b.replicas.dump()).toEqual(a.replicas.dump());
  });

  it('goes on with its steps while the target cannot tell the digests for a copy', async () => {
    const { a, b, map } = make({ namespaces: [] });
    for (const i of every(10)) a.replicas.write(runRef(i), { epoch: 1, text: 'old' });
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    b.replicas.digests = () => Promise.reject(new AtollError('unavailable', 'shard 0 is away'));
    map.set([namespaceOf(NS)]);
    await cells.clock.advanceSettled(20_000);
    // Of the shard whose copy has begun: its rows are queued.
    const fed = runRef(every(99).find((i) => i > 10 && a.replicas.shardOf(`run-${i}`) === 0) ?? 0);
    // The first push comes when the lane tries again; after it the lane does not wait for the copy.
    a.replicas.write(fed, { epoch: 1, text: 'first' });
    await cells.clock.advanceSettled(6_000);
    expect(b.replicas.have(fed.runId)).toBe(1);
    for (const text of 'abcdefgh') {
      a.replicas.write(fed, { epoch: 1, text });
      await cells.clock.advanceSettled(50);
    }
    expect(b.replicas.have(fed.runId)).toBe(9);
    expect(cells.status().kind).toBe('copy');
  });
});

it('gives a call of images the time that its bytes need, at the slowest rate', () => {
  expect(imagesMs(0, { callMs: 10, imageBytesPerSecond: 1_000 })).toBe(10);
  expect(imagesMs(2_500, { callMs: 10, imageBytesPerSecond: 1_000 })).toBe(2_510);
});

describe('a large image', () => {
  let cells: TwoCells;
  afterEach(() => cells.close());
  const LARGE = 'x'.repeat(12_000);

  /** Sends large images at so many bytes a second. */
  const sending = async (bytesPerSecond: number) => {
    const config = { imagePartBytes: 4_000, imageBytesPerSecond: 1_000, stepMaxBytes: 1 << 20 };
    cells = new TwoCells({ config });
    const { a, b, clock } = cells;
    await cells.settle();
    for (const i of every(40)) {
      a.replicas.write(runRef(i), { epoch: 1, text: i === 0 ? LARGE : 'x' });
    }
    await cells.settle();
    const { out } = a;
    const pushImages = out.pushImages.bind(out);
    out.pushImages = async (push, signal) => {
      const bytes = push.images.reduce((sum, { length }) => sum + length, 0);
      if (bytes > 12_000) await sleep(clock, (bytes * 1000) / bytesPerSecond, signal);
      return pushImages(push, signal);
    };
    for (const i of every(40)) b.replicas.forget(runRef(i));
    for (const i of every(40)) a.replicas.write(runRef(i), { epoch: 1, text: 'y' });
  };
  const there = () => every(40).filter((i) => cells.b.replicas.have(`run-${i}`) === 2).length;

  it('arrives though it needs longer than a call', async () => {
    await sending(1_000);
    await cells.clock.advanceSettled(10_000);
    expect(there()).toBe(15);
    await cells.clock.advanceSettled(5_000);
    expect([there(), cells.status().parked]).toEqual([40, 0]);
  });

  it('is parked after some full tries where the way is slower than that, and holds up no other', async () => {
    await sending(100);
    await cells.clock.advanceSettled(100_000);
    expect([there(), cells.status().pending]).toEqual([39, 0]);
    const open = { repairedToo: false, limit: 9 };
    const letters = await cells.a.letters.list({ namespaceId: NS, target: 'b' }, open);
    expect(letters).toMatchObject([
      { runId: 'run-0', reason: expect.stringContaining('pushing images did not end') as string },
    ]);
  });
});
