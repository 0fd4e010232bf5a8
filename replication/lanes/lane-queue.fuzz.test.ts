/** The queue of a lane against a simple model: a list of what is pending. */
import { expect, test } from 'vitest';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { NO_LINEAGE } from '../../cell/history/lineage.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import { LaneQueue, type LaneEntry } from './lane-queue.ts';

test.each(Array.from({ length: 30 }, (_, i) => i + 1))(
  'seed %i: order, sizes and positions are those of a list',
  (seed) => {
    const rng = new SeededRng(seed);
    const queue = new LaneQueue();
    const pending = new Set<LaneEntry>();
    const numbers = new Map<string, number>();
    const sent = new Map<string, number>();
    let seq = 0;
    for (let i = 0; i < 400; i += 1) {
      const what = rng.integer(0, 9);
      if (what < 6) {
        const runId = `r${rng.integer(1, 5)}`;
        const number = (numbers.get(runId) ?? 0) + 1;
        numbers.set(runId, number);
        seq += rng.integer(0, 1);
        const shard = (runId.charCodeAt(1) % 2) as ShardId;
        const bytes = new Uint8Array(rng.integer(1, 50));
        const entry = {
          shard,
          seq: seq as Seq,
          workflowId: 'w',
          runId,
          number,
          epoch: 1,
          at: seq,
          bytes,
        };
        queue.offer(entry);
        pending.add(entry);
      } else if (what < 8) {
        const held = new Set<string>();
        const isPostponing = rng.chance(0.3);
        for (const entry of queue.take({ items: rng.integer(1, 9), bytes: rng.integer(20, 200) })) {
          // Of a run, numbers are seen in order: each is the next, or one that was seen before.
          expect(entry.number).toBeLessThanOrEqual((sent.get(entry.runId) ?? 0) + 1);
          sent.set(entry.runId, Math.max(entry.number, sent.get(entry.runId) ?? 0));
          if (held.has(entry.runId) || rng.chance(0.15)) {
            if (isPostponing) queue.postpone(entry);
            else queue.hold(entry);
            held.add(entry.runId);
          } else {
            queue.settle(entry);
            pending.delete(entry);
          }
        }
        queue.landed();
      } else if (what === 8) {
        for (const { runId, number } of queue.waiting(rng.integer(1, 3))) {
          const upTo = number + rng.integer(0, 2);
          queue.release(runId, { upTo, lineage: NO_LINEAGE });
          sent.set(runId, Math.max(upTo, sent.get(runId) ?? 0));
          for (const one of pending)
            if (one.runId === runId && one.number <= upTo) pending.delete(one);
        }
      } else {
        if (rng.chance(0.5)) queue.resume(rng.integer(1, 5));
        queue.take({ items: 3, bytes: 100 });
        queue.giveBack();
      }
      const list = [...pending];
      expect(queue.size).toBe(list.length);
      expect(queue.bytes).toBe(list.reduce((sum, { bytes }) => sum + bytes.length, 0));
      for (const shard of [0, 1] as ShardId[]) {
        const seqs = list.filter((one) => one.shard === shard).map((one) => one.seq);
        expect(queue.lowest(shard)).toBe(seqs.length === 0 ? undefined : Math.min(...seqs));
      }
    }
  },
);
