import { describe, expect, it } from 'vitest';
import { NO_LINEAGE } from '../../cell/history/lineage.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import { LaneQueue, type LaneEntry } from './lane-queue.ts';

/** `shard seq run number`, 10 bytes each. */
function entry(text: string): LaneEntry {
  const [shard = 0, seq = 0, run = 0, number = 0] = text.split(' ').map(Number);
  return {
    shard: shard as ShardId,
    seq: seq as Seq,
    workflowId: `w${run}`,
    runId: `r${run}`,
    number,
    epoch: 1,
    at: seq * 100,
    bytes: new Uint8Array(10),
  };
}

const ALL = { items: 100, bytes: 1_000 };
const names = (entries: readonly LaneEntry[]) =>
  entries.map(({ shard, seq, runId, number }) => `${shard} ${seq} ${runId.slice(1)} ${number}`);

function filled(...texts: string[]): LaneQueue {
  const queue = new LaneQueue();
  for (const text of texts) queue.offer(entry(text));
  return queue;
}

describe('the queue of a lane', () => {
  it('gives entries in order, within items and bytes, and a large one alone', () => {
    const queue = filled('0 1 1 1', '0 1 2 1', '0 2 1 2');
    expect(names(queue.take({ items: 2, bytes: 1_000 }))).toEqual(['0 1 1 1', '0 1 2 1']);
    queue.giveBack();
    expect(names(queue.take({ items: 9, bytes: 25 }))).toEqual(['0 1 1 1', '0 1 2 1']);
    queue.giveBack();
    expect(names(queue.take({ items: 9, bytes: 3 }))).toEqual(['0 1 1 1']);
  });

  it('knows the oldest row with something pending, per shard', () => {
    const queue = filled('0 1 1 1', '0 1 2 1', '0 2 1 2', '1 7 3 1');
    const [first, second, third] = queue.take(ALL);
    expect([queue.lowest(0 as ShardId), queue.lowest(1 as ShardId)]).toEqual([1, 7]);
    for (const one of [second, third]) if (one) queue.settle(one);
    expect(queue.lowest(0 as ShardId)).toBe(1);
    if (first) queue.settle(first);
    queue.landed();
    expect([queue.lowest(0 as ShardId), queue.size, queue.bytes]).toEqual([undefined, 1, 10]);
    expect(queue.oldestAt()).toBe(700);
  });

  it('postpones a run, also what comes later, until it is resumed, and nothing else', () => {
    const queue = filled('0 1 1 1', '0 2 1 2', '0 3 2 1');
    const [first, second, other] = queue.take(ALL);
    for (const one of [first, second]) if (one) queue.postpone(one);
    if (other) queue.settle(other);
    queue.landed();
    queue.offer(entry('0 5 1 3'));
    queue.offer(entry('0 6 3 1'));
    expect(names(queue.take(ALL))).toEqual(['0 6 3 1']);
    queue.giveBack();
    expect([queue.hasPostponed, queue.lowest(0 as ShardId)]).toEqual([true, 1]);
    queue.resume(9);
    expect(names(queue.take(ALL))).toEqual(['0 1 1 1', '0 2 1 2', '0 5 1 3', '0 6 3 1']);
    expect(queue.hasPostponed).toBe(false);
    queue.giveBack();
  });

  it('resumes so many runs at a time, those that have waited longest first', () => {
    const queue = filled('0 1 1 1', '0 2 2 1', '0 3 3 1');
    for (const one of queue.take(ALL)) queue.postpone(one);
    queue.landed();
    queue.resume(1);
    const [first] = queue.take(ALL);
    if (first) queue.postpone(first);
    queue.landed();
    expect(queue.postponements).toBe(4);
    queue.resume(2);
    expect(names(queue.take(ALL))).toEqual(['0 2 2 1', '0 3 3 1']);
    expect(queue.hasPostponed).toBe(true);
  });

  it('forgets what was postponed with its run, or its shard', () => {
    const queue = filled('0 1 1 1', '1 1 2 1');
    for (const one of queue.take(ALL)) queue.postpone(one);
    queue.landed();
    queue.dropRun('r1');
    queue.drop(1 as ShardId);
    expect([queue.size, queue.bytes, queue.hasPostponed]).toEqual([0, 0, false]);
  });

  it('holds a run behind its image, also what comes later, and lets it go on in order', () => {
    const queue = filled('0 1 1 1', '0 2 1 2', '0 3 2 1', '0 4 1 3');
    const [first] = queue.take({ items: 1, bytes: 100 });
    if (first) queue.hold(first);
    queue.landed();
    queue.offer(entry('0 5 1 4'));
    expect(names(queue.take(ALL))).toEqual(['0 3 2 1']);
    queue.giveBack();
    expect(names(queue.waiting(5))).toEqual(['0 1 1 1']);
    queue.release('r1', { upTo: 2, lineage: NO_LINEAGE });
    expect(names(queue.take(ALL))).toEqual(['0 4 1 3', '0 5 1 4', '0 3 2 1']);
    expect(queue.lowest(0 as ShardId)).toBe(3);
  });

  it('touches nothing that was dropped, also when its answer comes later', () => {
    const queue = filled('0 1 1 1', '1 1 2 1');
    const flight = queue.take(ALL);
    queue.drop(0 as ShardId);
    queue.offer(entry('0 1 1 1'));
    for (const one of flight) queue.settle(one);
    queue.giveBack();
    expect([queue.size, queue.bytes, queue.lowest(0 as ShardId)]).toEqual([1, 10, 1]);
    queue.drop();
    expect([queue.size, queue.bytes, queue.hasReady]).toEqual([0, 0, false]);
  });

  it('settles all of a run that is parked', () => {
    const queue = filled('0 1 1 1', '0 2 2 1', '0 3 1 2');
    const [first] = queue.take({ items: 1, bytes: 100 });
    if (first) queue.hold(first);
    queue.landed();
    queue.dropRun('r1');
    expect(names(queue.take(ALL))).toEqual(['0 2 2 1']);
    expect([queue.size, queue.waiting(1)]).toEqual([1, []]);
  });
});
