import { describe, expect, test } from 'vitest';
import { settlePromises } from '../../kernel/testing/virtual-clock.ts';
import { activity } from '../history/testing/inputs.ts';
import { ACTIVITIES, calling, outcomeOf, ShardLab, wf } from './testing/shard-lab.ts';

describe('an owner', () => {
  test('whose append stays unknown drops its memory and takes over from itself', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    host.fate = ({ kind }) => (kind === 'append' ? { kind: 'lost', failMs: 1 } : undefined);
    const lost = host.signal('a', 's1');
    const outcome = outcomeOf(lost);
    await outcome;
    await host.settle(10_600);
    host.fate = () => undefined;
    expect(await outcomeOf(lost)).toContain('takes over from itself');
    await host.settle(1_000);
    expect(host.ownership.range).toBe(2);
    await host.signal('a', 's1');
    const { state } = await host.shards.read(wf('a'), calling());
    expect(state.signalCount).toBe(1);
  });

  test('keeps its callers waiting while it takes over, and tells them when it is closed', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    host.fate = ({ kind }) =>
      kind === 'append' || kind === 'claim' ? { kind: 'lost', failMs: 1 } : undefined;
    const first = host.start('a');
    const told = Promise.allSettled([first]);
    await host.settle(11_000);
    await told;
    const waiting = host.start('b');
    expect(await outcomeOf(waiting)).toBe('waits');
    const closing = host.shards.close();
    expect(await outcomeOf(waiting)).toContain('it was closed');
    await closing;
    await host.settle(60_000);
    expect(host.stops).toEqual([]);
  });

  test('stops over a hole that a promoted standby left, and says so', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    lab.database.promoteStandby(1);
    await expect(host.start('b')).rejects.toThrow('lacks records');
    expect(host.stops).toEqual([{ kind: 'hole' }]);
  });

  test('does not take over from itself over a hole that others have grown past since', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    host.fate = ({ kind }) => (kind === 'read' ? undefined : { kind: 'lost', failMs: 1 });
    const unheard = host.start('b');
    await outcomeOf(unheard);
    await host.settle(10_600);
    expect(await outcomeOf(unheard)).toContain('takes over from itself');
    lab.database.promoteStandby(1); // What was acknowledged of `a`.
    const next = await lab.host();
    await next.start('c');
    await next.settle();
    host.fate = () => undefined;
    await host.settle();
    expect(host.stops).toEqual([{ kind: 'lost', to: next.ownership.range }]);
  });

  test('goes on with a promoted standby that has everything', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    lab.database.promoteStandby(0);
    await host.start('b');
    expect(host.stops).toEqual([]);
  });

  test('whose decision breaks an invariant stops alone', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    const found = host.ownership.memory.peek(wf('a'));
    const head = () => {
      throw new TypeError('a bug');
    };
    if (found) Object.defineProperty(found.run, 'head', { get: head });
    await expect(host.signal('a')).rejects.toThrow('an invariant is broken');
    expect(host.stops).toMatchObject([{ kind: 'broken' }]);
  });

  test('outlives a caller that goes away while its append is in flight', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    host.fate = ({ kind }) => (kind === 'append' ? { kind: 'ok', answerMs: 500 } : undefined);
    const gone = new AbortController();
    const asked = { kind: 'signal', requestId: '', name: 'go', identity: '' } as const;
    const left = host.shards.execute(wf('a'), asked, calling(gone.signal));
    const leaves = outcomeOf(left);
    await leaves;
    gone.abort(new TypeError('gone')); // Whatever the reason is: it is no bug of ours.
    expect(await outcomeOf(left)).toBe('gone');
    await host.settle(1_000);
    expect(host.stops).toEqual([]);
    const { state } = await host.shards.read(wf('a'), calling());
    expect(state.signalCount).toBe(1);
  });

  test('with a tail at its limit lets callers wait for the checkpoint, in bounds', async () => {
    const lab = new ShardLab({ tailRecordLimit: 3, tailWaiterLimit: 2 });
    const host = await lab.host();
    for (const id of ['a', 'b']) await host.start(id);
    const gone = new AbortController();
    const asked = { kind: 'signal', requestId: '', name: 'go', identity: '' } as const;
    const left = host.shards.execute(wf('a'), asked, calling(gone.signal));
    const leaves = outcomeOf(left);
    await leaves;
    gone.abort(new Error('gone'));
    expect(await outcomeOf(left)).toBe('gone');
    const waits = [host.signal('a'), host.signal('b')]; // The one that is gone takes no place.
    const ends = Promise.allSettled(waits);
    await settlePromises();
    await expect(host.signal('a')).rejects.toThrow('tailWaiterLimit');
    await host.settle();
    expect((await ends).map((end) => end.status)).toEqual(['fulfilled', 'fulfilled']);
  });
});

describe('after a takeover', () => {
  test('a heartbeat that nobody could send gets one full interval, not more', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    const heartbeatTimeout = { seconds: 10, nanos: 0 };
    const startToCloseTimeout = { seconds: 600, nanos: 0 };
    const retryPolicy = { maximumAttempts: 1 };
    await host.work('a', [activity('x', { heartbeatTimeout, startToCloseTimeout, retryPolicy })]);
    await host.startTask(await host.poll(ACTIVITIES));
    await host.settle(2_000);
    await host.shards.close();
    lab.clock.advance(60_000); // Nobody owns the shard.
    const next = await lab.host();
    await next.settle(9_000);
    const beats = async () => (await next.shards.read(wf('a'), calling())).state.activities.size;
    expect(await beats()).toBe(1);
    await next.settle(2_000);
    expect(await beats()).toBe(0);
  });

  test('a tail that touches more runs than memory may hold is replayed', async () => {
    const lab = new ShardLab({ cachedRunLimit: 2 });
    const host = await lab.host();
    const ids = Array.from({ length: 30 }, (_, i) => `wf-${i}`);
    await Promise.all(ids.map((id) => host.start(id)));
    await host.settle();
    host.fate = ({ kind }) => (kind === 'checkpoint' ? { kind: 'lost', failMs: 1 } : undefined);
    await Promise.all(ids.map((id) => host.signal(id)));
    const next = await lab.host();
    for (const id of ids) {
      const { state } = await next.shards.read(wf(id), calling());
      expect(state.signalCount).toBe(1);
    }
  });
});

describe('the scanner', () => {
  test('heals work that nobody drives, counts it, and runs again after a pass that broke off', async () => {
    const lab = new ShardLab({ scanAgainMs: 10_000 });
    const host = await lab.host();
    await host.start('a');
    await host.settle();
    const found = host.ownership.memory.peek(wf('a'));
    await host.poll(); // Lost with its matching host.
    if (found) host.ownership.work.driver.sync(found.run.ref, []);
    let failures = 1;
    host.fate = ({ kind }) =>
      kind === 'read' && (failures -= 1) >= 0 ? { kind: 'rejected' } : undefined;
    await host.settle(25_000);
    const [owner] = host.shards.owners();
    expect(owner?.scans).toMatchObject({ healed: 1 });
    expect((await host.poll()).workflowId).toBe('a');
  });
});
