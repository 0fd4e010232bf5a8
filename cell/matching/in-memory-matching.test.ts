import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock, settlePromises } from '../../kernel/testing/virtual-clock.ts';
import { defaultMatchingConfig, type MatchingConfig } from './config.ts';
import { InMemoryMatching } from './in-memory-matching.ts';
import type { OfferedTask, QueueKey } from './matching.ts';

const orders: QueueKey = { namespaceId: 'ns', kind: 'workflow', name: 'orders' };
const returns: QueueKey = { namespaceId: 'ns', kind: 'workflow', name: 'returns' };

let clock: VirtualClock;
let matching: InMemoryMatching;

beforeEach(() => {
  clock = new VirtualClock();
  matching = make({});
});

function make(config: Partial<MatchingConfig>): InMemoryMatching {
  return new InMemoryMatching({ clock, config: { ...defaultMatchingConfig, ...config } });
}

function task(workflowId: string, queue: QueueKey = orders): OfferedTask {
  const ids = { workflowId, runId: 'run', scheduledEventId: 2, attempt: 1 };
  return { kind: 'workflow-task', queue, ...ids, scheduledAt: clock.now() };
}

/** A poll in flight: what it got so far, and its client's plug. */
function startPoll(queue: QueueKey = orders, identity = 'worker') {
  const client = new AbortController();
  const poll = { got: 'nothing yet', leave: () => client.abort() };
  matching.poll(queue, { identity, signal: client.signal }).then(
    (found) => (poll.got = found?.workflowId ?? 'empty'),
    (error: unknown) => (poll.got = String(error)),
  );
  return poll;
}

async function pollNow(queue: QueueKey = orders): Promise<string> {
  const poll = startPoll(queue);
  await settlePromises();
  poll.leave();
  await settlePromises();
  return poll.got;
}

describe('pairing', () => {
  it('hands a task to a waiting poll at once, the longest waiting first', async () => {
    const [first, second] = [startPoll(), startPoll()];
    expect(matching.offer(task('a'))).toBe('accepted');
    await settlePromises();
    expect([first.got, second.got]).toEqual(['a', 'nothing yet']);
    expect(matching.backlog(orders).tasks).toBe(0);
  });

  it('keeps tasks in the order of their offers and gives each to exactly one poll', async () => {
    for (const id of ['a', 'b', 'c']) matching.offer(task(id));
    expect([await pollNow(), await pollNow(), await pollNow(), await pollNow()]).toEqual([
      'a',
      'b',
      'c',
      'empty',
    ]);
  });

  it('keeps the order over thousands of tasks', async () => {
    const ids = Array.from({ length: 3_000 }, (_, index) => `w${index}`);
    for (const id of ids) matching.offer(task(id));
    const signal = new AbortController().signal;
    const got: (string | undefined)[] = [];
    for (let n = 0; n < ids.length; n++)
      got.push((await matching.poll(orders, { identity: '', signal }))?.workflowId);
    expect(got).toEqual(ids);
  });

  it('does not mix queues of other names, kinds or namespaces', async () => {
    matching.offer(task('a'));
    expect(await pollNow(returns)).toBe('empty');
    expect(await pollNow({ ...orders, kind: 'activity' })).toBe('empty');
    expect(await pollNow({ ...orders, namespaceId: 'other' })).toBe('empty');
    expect(await pollNow()).toBe('a');
  });

  it('puts a task that is given back before all others, or into a waiting hand', async () => {
    matching.offer(task('b'));
    matching.giveBack(task('a'));
    expect([await pollNow(), await pollNow()]).toEqual(['a', 'b']);
    const waiting = startPoll();
    matching.giveBack(task('c'));
    await settlePromises();
    expect(waiting.got).toBe('c');
  });
});

describe('a client that is gone', () => {
  it('ends its poll empty and never takes a task (BEHAVIOURS 21)', async () => {
    const poll = startPoll();
    poll.leave();
    matching.offer(task('a'));
    await settlePromises();
    expect(poll.got).toBe('empty');
    expect(matching.backlog(orders).tasks).toBe(1);
  });

  it('takes nothing when it was gone before its poll came in', async () => {
    matching.offer(task('a'));
    expect(
      await matching.poll(orders, { identity: '', signal: AbortSignal.abort() }),
    ).toBeUndefined();
    expect(matching.backlog(orders).tasks).toBe(1);
  });

  it('leaves a poll that already has its task untouched', async () => {
    const poll = startPoll();
    matching.offer(task('a'));
    poll.leave();
    await settlePromises();
    expect(poll.got).toBe('a');
  });
});

describe('bounds', () => {
  it('says full at the bound and calls for more once, when half of the room is free', async () => {
    matching = make({ maxTasksPerQueue: 4 });
    const heard: string[] = [];
    matching.onRoom((queue) => heard.push(queue.name));
    const offers = ['a', 'b', 'c', 'd', 'e'].map((id) => matching.offer(task(id)));
    expect(offers).toEqual(['accepted', 'accepted', 'accepted', 'accepted', 'full']);
    await pollNow();
    expect(heard).toEqual([]);
    await pollNow();
    expect(heard).toEqual(['orders']);
    await pollNow();
    await pollNow();
    expect(heard).toEqual(['orders']);
  });

  it('stays silent for a queue that was never full, and for a listener that left', async () => {
    matching = make({ maxTasksPerQueue: 2 });
    const heard: string[] = [];
    const leave = matching.onRoom((queue) => heard.push(queue.name));
    matching.offer(task('a'));
    await pollNow();
    expect(heard).toEqual([]);
    leave();
    for (const id of ['a', 'b', 'c']) matching.offer(task(id));
    await pollNow();
    expect(heard).toEqual([]);
  });

  it('never refuses a task that is given back', () => {
    matching = make({ maxTasksPerQueue: 2 });
    for (const id of ['a', 'b']) matching.offer(task(id));
    matching.giveBack(task('c'));
    expect(matching.backlog(orders).tasks).toBe(3);
  });

  it('refuses a poll beyond the bound of waiting polls and names the bound', async () => {
    matching = make({ maxPollersPerQueue: 1 });
    startPoll();
    const second = startPoll();
    await settlePromises();
    expect(second.got).toContain('maxPollersPerQueue');
  });

  it('makes room for a new queue by dropping idle ones, and tells who was turned away', async () => {
    matching = make({ maxQueues: 1 });
    const heard: string[] = [];
    matching.onRoom((queue) => heard.push(queue.name));
    matching.offer(task('a', orders));
    expect(matching.offer(task('b', returns))).toBe('full');
    expect(await pollNow(returns)).toContain('maxQueues');
    expect(await pollNow(orders)).toBe('a');
    expect(matching.offer(task('b', returns))).toBe('accepted');
    expect(heard).toEqual(['returns']);
  });

  it('drops a queue that nobody used for five minutes, not one with a task or a poll', async () => {
    const polled = startPoll(returns);
    matching.offer(task('a', orders));
    await pollNow({ ...orders, name: 'quiet' });
    clock.advance(5 * 60_000);
    await pollNow({ ...orders, name: 'new' });
    expect(matching.queueCount).toBe(3);
    polled.leave();
  });
});

describe('a reserved poll', () => {
  function reserve(queue: QueueKey = orders) {
    const reserved = matching.reserve(queue);
    if (reserved === undefined) throw new Error('no poll waits here');
    return reserved;
  }

  it('is the longest waiting one, and gets what it is handed with its start', async () => {
    const client = new AbortController();
    const first = matching.poll(orders, { identity: 'first', signal: client.signal });
    const second = startPoll(orders, 'second');
    const reserved = reserve();
    expect(reserved.identity).toBe('first');
    reserved.hand({ ...task('a'), started: 'so' });
    expect(await first).toMatchObject({ workflowId: 'a', started: 'so' });
    expect(second.got).toBe('nothing yet');
  });

  it('is nobody where no poll waits', () => {
    expect(matching.reserve(orders)).toBeUndefined();
    matching.offer(task('a'));
    expect(matching.reserve(orders)).toBeUndefined();
  });

  it('meets no task meanwhile; released, it takes the one that waits, or waits on', async () => {
    const poll = startPoll();
    const reserved = reserve();
    matching.offer(task('a'));
    await settlePromises();
    expect([poll.got, matching.backlog(orders).tasks]).toEqual(['nothing yet', 1]);
    reserved.release();
    await settlePromises();
    expect([poll.got, matching.backlog(orders).tasks]).toEqual(['a', 0]);

    const other = startPoll();
    reserve().release();
    matching.offer(task('b'));
    await settlePromises();
    expect(other.got).toBe('b');
  });

  it('is decided about once', async () => {
    const poll = startPoll();
    const reserved = reserve();
    expect([reserved.hand(task('a')), reserved.hand(task('c'))]).toEqual([true, false]);
    reserved.release();
    matching.offer(task('b'));
    await settlePromises();
    expect([poll.got, matching.backlog(orders).tasks]).toEqual(['a', 1]);
  });

  it('ends with its client, and takes nothing then', async () => {
    const poll = startPoll();
    const reserved = reserve();
    poll.leave();
    await settlePromises();
    expect([poll.got, reserved.hand(task('a'))]).toEqual(['empty', false]);
    reserved.release();
    matching.offer(task('b'));
    expect(matching.backlog(orders).tasks).toBe(1);
  });

  it.each([
    ['its queue was forgotten', () => matching.forget(orders)],
    ['its namespace was released', () => matching.release(orders.namespaceId)],
  ])('gets its started task although %s meanwhile; without one it ends empty', async (_, end) => {
    const [handed, released] = [startPoll(), startPoll()];
    const [first, second] = [reserve(), reserve()];
    end();
    await settlePromises();
    expect([handed.got, released.got]).toEqual(['nothing yet', 'nothing yet']);
    expect(first.hand(task('a'))).toBe(true);
    second.release();
    await settlePromises();
    expect([handed.got, released.got]).toEqual(['a', 'empty']);
    matching.offer(task('b'));
    expect(matching.backlog(orders).tasks).toBe(1);
  });

  it('that was released is nothing to its reservation, though reserved again', async () => {
    const poll = startPoll();
    const reserved = reserve();
    reserved.release();
    const again = reserve();
    expect(reserved.hand(task('a'))).toBe(false);
    expect(again.hand(task('b'))).toBe(true);
    await settlePromises();
    expect(poll.got).toBe('b');
  });

  it('counts as waiting: for the bound of polls, and for a queue in use', async () => {
    matching = make({ maxPollersPerQueue: 1, maxQueues: 1 });
    startPoll();
    reserve();
    const second = startPoll();
    await settlePromises();
    expect(second.got).toContain('maxPollersPerQueue');
    clock.advance(60_000);
    expect(matching.isPolled(orders)).toBe(true);
    expect(await pollNow(returns)).toContain('maxQueues');
  });
});

describe('who polls', () => {
  it('counts a queue as polled while a poll waits and for ten seconds after', async () => {
    expect(matching.isPolled(orders)).toBe(false);
    const poll = startPoll();
    clock.advance(60_000);
    expect(matching.isPolled(orders)).toBe(true);
    poll.leave();
    clock.advance(10_000);
    expect(matching.isPolled(orders)).toBe(true);
    clock.advance(1);
    expect(matching.isPolled(orders)).toBe(false);
  });

  it('is not misled by a jump of the wall clock', async () => {
    await pollNow();
    clock.jumpWallBy(3_600_000);
    expect(matching.isPolled(orders)).toBe(true);
  });

  it('forgets a queue whose worker said goodbye: polls end empty, tasks come back, in order', async () => {
    for (const id of ['a', 'b']) matching.offer(task(id));
    matching.giveBack(task('z'));
    expect(matching.forget(orders).map((one) => one.workflowId)).toEqual(['z', 'a', 'b']);
    expect(matching.backlog(orders).tasks).toBe(0);
    const poll = startPoll();
    expect(matching.isPolled(orders)).toBe(true);
    matching.forget(orders);
    await settlePromises();
    expect(poll.got).toBe('empty');
    expect(matching.isPolled(orders)).toBe(false);
  });

  it('tells owners that wait for room when a full queue is forgotten', () => {
    matching = make({ maxTasksPerQueue: 2 });
    const heard: string[] = [];
    matching.onRoom((queue) => heard.push(queue.name));
    for (const id of ['a', 'b', 'c']) matching.offer(task(id));
    matching.forget(orders);
    expect(heard).toEqual(['orders']);
  });

  it('shows the pollers of the last five minutes, a bounded number of them', async () => {
    matching = make({ maxIdentitiesPerQueue: 2 });
    for (const identity of ['one', 'two', 'three']) {
      startPoll(orders, identity).leave();
      clock.advance(1_000);
    }
    expect(matching.pollers(orders).map((one) => one.identity)).toEqual(['two', 'three']);
    clock.advance(5 * 60_000 - 1_500);
    expect(matching.pollers(orders).map((one) => one.identity)).toEqual(['three']);
  });

  it('tells the backlog and the age of its oldest task', () => {
    matching.offer(task('a'));
    clock.advance(2_500);
    matching.offer(task('b'));
    expect(matching.backlog(orders)).toEqual({ tasks: 2, oldestAgeMs: 2_500 });
    expect(matching.backlog(returns)).toEqual({ tasks: 0, oldestAgeMs: 0 });
  });
});
