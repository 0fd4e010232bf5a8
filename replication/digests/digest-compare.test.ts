import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UNSTORED } from '../../cell/shard/replicas/replicas.ts';
import { AtollError } from '../../kernel/errors.ts';
import { ServedCellControl } from '../control/cell-control.ts';
import { replicationConfig } from '../config.ts';
import type { VerifyReport } from '../control/control.ts';
import { namespaceOf } from '../testing/stub-map.ts';
import { NO_FAULT } from '../testing/receiver-peer.ts';
import { NS, runRef, TwoCells } from '../testing/two-cells.ts';

describe('the comparer', () => {
  let cells: TwoCells;
  beforeEach(async () => {
    cells = new TwoCells();
    for (let i = 0; i < 450; i += 1) cells.a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    await cells.settle();
  });
  afterEach(() => cells.close());

  const control = () =>
    new ServedCellControl({
      ...cells.a,
      cellId: 'a',
      map: cells.map,
      losses: { report: () => Promise.reject(new Error('not asked')) },
      peerOf: () => cells.a.out,
      clock: cells.clock,
      config: replicationConfig(),
    });

  const verify = (repair: boolean, meanwhile?: () => void) =>
    ended(
      control().verify({ namespaceId: NS, against: 'b', repair }, new AbortController().signal),
      meanwhile,
    );

  async function ended(
    asked: Promise<VerifyReport>,
    meanwhile: () => void = () => {},
  ): Promise<VerifyReport> {
    let report: VerifyReport | undefined;
    let failed = false;
    void asked.then(
      (done) => (report = done),
      () => (failed = true),
    );
    while (report === undefined && !failed) {
      meanwhile();
      await cells.clock.advanceSettled(50);
    }
    return asked;
  }

  it('finds every execution equal after a quiet replication', async () => {
    expect(await verify(false)).toMatchObject({
      compared: 450,
      equal: 450,
      differences: 0,
      moving: 0,
    });
  });

  it('accuses nobody while transitions are under way', async () => {
    let n = 0;
    const report = await verify(false, () => {
      for (let k = 0; k < 40; k += 1)
        cells.a.replicas.write(runRef(n++ % 450), { epoch: 1, text: 'y' });
    });
    expect(report.differences).toBe(0);
    expect(report.compared).toBe(450);
  });

  it('accuses nobody whose steps a slow lane is still bringing', async () => {
    cells.a.out.fate = (method) => ({ ...NO_FAULT, delayMs: method === 'steps' ? 1_500 : 1 });
    cells.a.replicas.write(runRef(1), { epoch: 1, text: 'y' });
    cells.a.replicas.write(runRef(500), { epoch: 1, text: 'new' });
    expect(await verify(false)).toMatchObject({ compared: 451, equal: 451, differences: 0 });
  });

  it('finds what is missing, behind, ahead of its history, or wrong inside, and repairs it', async () => {
    const { replicas } = cells.b;
    replicas.forget(runRef(1));
    replicas.corrupted.set('run-2', { history: 'other' });
    replicas.corrupted.set('run-3', { state: 'other' });
    replicas.corrupted.set('run-4', { execution: 'other' });
    replicas.corrupted.set('run-5', { transition: 7 });
    const found = await verify(false);
    const what = Object.fromEntries(found.different.map((one) => [one.runId, one.what]));
    expect(what).toEqual({
      'run-1': 'missing',
      'run-2': 'history',
      'run-3': 'state',
      'run-4': 'execution',
      'run-5': 'state',
    });
    expect(found).toMatchObject({ equal: 445, repaired: 0 });
    expect(await verify(true)).toMatchObject({ differences: 5, repaired: 5 });
    expect(await verify(false)).toMatchObject({ equal: 450, differences: 0 });
  });

  it('mends the others where one cannot be mended, and says why', async () => {
    const { replicas } = cells.b;
    for (const i of [1, 2, 3]) replicas.forget(runRef(i));
    for (const n of ['s', 't']) replicas.write(runRef(n), { epoch: 1, text: 'x' });
    const adopt = replicas.adopt.bind(replicas);
    replicas.adopt = async (image) => {
      if (image.state.runId === 'run-2') throw new AtollError('unavailable', 'not run-2');
      return adopt(image);
    };
    const remove = replicas.remove.bind(replicas);
    replicas.remove = async (run) => {
      if (run.runId === 'run-s') throw new AtollError('unavailable', 'not run-s');
      return remove(run);
    };
    const { different, ...report } = await verify(true);
    expect(report).toMatchObject({ differences: 5, repaired: 3 });
    expect(different.filter(({ why }) => why !== undefined)).toEqual([
      { workflowId: 'w-2', runId: 'run-2', what: 'missing', why: 'not run-2' },
      { workflowId: 'w-s', runId: 'run-s', what: 'extra', why: 'not run-s' },
    ]);
  });

  it('finds an image that breaks a whole call of a repair, by itself', async () => {
    for (const i of [1, 2, 3]) cells.b.replicas.forget(runRef(i));
    const { out } = cells.a;
    const pushImages = out.pushImages.bind(out);
    out.pushImages = async (push, signal) => {
      const isIn = push.images.some((one) => Buffer.from(one).includes('run-2'));
      if (isIn) throw new AtollError('internal', 'it broke');
      return pushImages(push, signal);
    };
    const { different, repaired } = await verify(true);
    expect(repaired).toBe(2);
    expect(different.filter(({ why }) => why !== undefined)).toMatchObject([
      { runId: 'run-2', why: 'it broke' },
    ]);
  });

  describe('of an active cell whose database has lost rows', () => {
    const lost = { history: UNSTORED, state: UNSTORED, execution: UNSTORED };
    const why = "the active cell's database lacks rows of it: a restart of that cell would lose it";
    const accused = { workflowId: 'w-3', runId: 'run-3', what: 'unstored', why };
    const ask = { namespaceId: NS, against: 'b' };
    beforeEach(() => {
      cells.a.replicas.damaged.set('run-3', lost);
      cells.a.out.calls.clear();
    });

    it('says so where what is stored is asked for, and why that matters', async () => {
      const signal = new AbortController().signal;
      const stored = control().verify({ ...ask, repair: false, stored: true }, signal);
      const report = await ended(stored);
      expect(report).toMatchObject({ compared: 450, equal: 449, differences: 1, repaired: 0 });
      expect(report.different).toEqual([accused]);
      expect(await verify(false)).toMatchObject({ equal: 450, differences: 0 });
    });

    it('sends nothing of it, counts nothing repaired, and mends the others', async () => {
      cells.b.replicas.corrupted.set('run-4', { state: 'other' });
      const sent: string[] = [];
      const adopt = cells.b.replicas.adopt.bind(cells.b.replicas);
      cells.b.replicas.adopt = async (image) => {
        sent.push(image.state.runId);
        return adopt(image);
      };
      const report = await verify(true);
      expect(report).toMatchObject({ differences: 2, repaired: 1 });
      expect(report.different).toContainEqual(accused);
      expect(sent).toEqual(['run-4']);
    });

    it('leaves what only the other cell has where it is: it may be the last copy', async () => {
      cells.b.replicas.write(runRef('only-there'), { epoch: 1, text: 'x' });
      const report = await verify(true);
      expect(report).toMatchObject({ differences: 2, repaired: 0 });
      expect(report.different).toContainEqual({
        workflowId: 'w-only-there',
        runId: 'run-only-there',
        what: 'extra',
        why: "it is kept there, since the active cell's database has lost rows of runs",
      });
      expect(cells.b.replicas.have('run-only-there')).toBe(1);
    });
  });

  it('does not have a run removed that was listed here a moment ago', async () => {
    const { replicas } = cells.a;
    const runsOf = replicas.runsOf.bind(replicas);
    replicas.runsOf = async (ask, page) => {
      const found = await runsOf(ask, page);
      replicas.forget(runRef(5));
      return found;
    };
    expect(await verify(true)).toMatchObject({ repaired: 0 });
    expect(cells.b.replicas.have('run-5')).toBe(1);
  });

  it('finds a run that only the other side has', async () => {
    cells.b.replicas.write(runRef('stray'), { epoch: 1, text: 'x' });
    cells.a.out.fate = cells.b.out.fate = () => ({
      lost: false,
      unheard: false,
      againAfterMs: undefined,
      delayMs: 1,
    });
    const report = await verify(false);
    expect(report.different).toEqual([
      { workflowId: 'w-stray', runId: 'run-stray', what: 'extra' },
    ]);
  });

  describe('that remembers what was equal', () => {
    const signal = new AbortController().signal;
    const all = { namespaceId: NS, against: 'b', repair: false };
    const changed = { ...all, changed: true };

    /** All executions were compared once; what is asked of the other cell from here on is counted. */
    async function compared() {
      const remembering = control();
      await ended(remembering.verify(all, signal));
      cells.a.out.calls.clear();
      return remembering;
    }

    it('looks only at what has changed since, in one call', async () => {
      const remembering = await compared();
      for (const n of [3, 5, 500]) {
        cells.a.replicas.write(runRef(n), { epoch: 1, text: 'y' });
      }
      await cells.settle();
      cells.a.out.calls.clear();
      const report = await ended(remembering.verify(changed, signal));
      expect(report).toMatchObject({ compared: 3, equal: 3, differences: 0, moving: 0 });
      expect(cells.a.out.calls.get('digests')).toBe(1);
      expect(cells.a.out.calls.get('runs')).toBeUndefined();
      expect(await ended(remembering.verify(changed, signal))).toMatchObject({ compared: 0 });
    });

    it('is no answer of a cell that is away, though nothing has changed', async () => {
      const remembering = await compared();
      cells.a.out.fate = () => ({ ...NO_FAULT, lost: true });
      await expect(ended(remembering.verify(changed, signal))).rejects.toMatchObject({
        code: 'unavailable',
      });
    });

    it('keeps in mind what was not equal, until it is', async () => {
      const remembering = control();
      cells.b.replicas.corrupted.set('run-7', { state: 'other' });
      expect(await ended(remembering.verify(all, signal))).toMatchObject({ differences: 1 });
      const unequal = { compared: 1, equal: 0, moving: 1 };
      expect(await ended(remembering.verify(changed, signal))).toMatchObject(unequal);
      cells.b.replicas.corrupted.clear();
      expect(await ended(remembering.verify(changed, signal))).toMatchObject({ equal: 1 });
    });

    it('does not wait for what moves before a handover, and is sure of it in one', async () => {
      const remembering = await compared();
      cells.b.replicas.corrupted.set('run-7', { state: 'other' });
      cells.a.replicas.write(runRef(7), { epoch: 1, text: 'y' });
      const beganMs = cells.clock.monotonicMs();
      const before = await ended(remembering.verify(changed, signal));
      expect(before).toMatchObject({ moving: 1, differences: 0 });
      expect(cells.clock.monotonicMs() - beganMs).toBeLessThanOrEqual(50);
      await cells.settle();
      cells.map.set([namespaceOf(NS, { state: { kind: 'handover', moveId: 'm', to: 'b' } })]);
      const within = await ended(remembering.verify(changed, signal));
      expect(within).toMatchObject({ compared: 1, moving: 0, differences: 1 });
    });

    it('compares all again in another epoch, and where nothing is remembered', async () => {
      const remembering = await compared();
      cells.map.set([namespaceOf(NS, { epoch: 3 })]);
      expect(await ended(remembering.verify(changed, signal))).toMatchObject({ compared: 450 });
      expect(await ended(control().verify(changed, signal))).toMatchObject({ compared: 450 });
    });
  });

  it('lets only the active cell repair, and only a cell that keeps a copy', async () => {
    cells.map.set([namespaceOf(NS, { active: 'b', epoch: 2 })]);
    const signal = new AbortController().signal;
    const ask = { namespaceId: NS, against: 'b', repair: true };
    await expect(control().verify(ask, signal)).rejects.toThrow('ask cell b');
    await expect(control().verify({ ...ask, against: 'c' }, signal)).rejects.toThrow(
      'keeps no copy',
    );
  });

  it('closes a namespace only for the move that the map holds, with this cell active', async () => {
    const signal = new AbortController().signal;
    const ask = { namespaceId: NS, moveId: 'm-1', revision: 1 };
    await expect(control().gate(ask, signal)).rejects.toMatchObject({
      code: 'failed-precondition',
    });
    const state = { kind: 'handover', moveId: 'm-1', to: 'b' } as const;
    cells.map.set([namespaceOf(NS, { state })]);
    await expect(control().gate({ ...ask, moveId: 'm-2' }, signal)).rejects.toThrow('m-2');
    expect(await control().gate(ask, signal)).toHaveLength(4);
  });

  it('waits for the map to reach the revision that it is asked to act on', async () => {
    const signal = new AbortController().signal;
    const observed = control().observe({ namespaceId: NS, revision: 3 }, signal);
    let done = false;
    void observed.then(() => (done = true));
    await cells.clock.advanceSettled(500);
    expect(done).toBe(false);
    cells.map.set([namespaceOf(NS)]);
    cells.map.set([namespaceOf(NS)]);
    await cells.clock.advanceSettled(500);
    expect(done).toBe(true);
  });
});
