import { expect, test } from 'vitest';
import { AtollError } from '../../../kernel/errors.ts';
import { silentLog } from '../../../kernel/log.ts';
import { VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import type { CachedRun } from '../runs/cached.ts';
import { DueInputs, type AskedShard } from './due-inputs.ts';
import type { Found } from '../runs/shard-memory.ts';

const RUN = { namespaceId: 'ns', workflowId: 'wf', runId: 'r' };
const DUE = { kind: 'timer-due', key: 't:5:x' } as const;

function scene(answer: (n: number) => 'done' | 'obsolete' | AtollError) {
  const clock = new VirtualClock();
  const log: string[] = [];
  let asked = 0;
  const head = { activities: new Map() };
  const run = { ref: RUN, head, granted: false } as unknown as CachedRun;
  const shard: AskedShard & { ended: AtollError | undefined } = {
    ended: undefined,
    execute: async (_, input) => {
      const outcome = answer((asked += 1));
      log.push(`${input.kind} at ${clock.monotonicMs() / 1_000}`);
      if (outcome instanceof AtollError) throw outcome;
      return { reply: { kind: outcome } };
    },
    at: async (_, __, use) => use({ run } as Found),
    driver: { answered: () => false },
    syncWork: () => log.push('sync'),
    standing: { drives: () => true },
    forgetWork: () => log.push('forget'),
  };
  const due = new DueInputs(shard, { clock, log: silentLog, epochOf: () => 1, beganAt: 100 });
  return { clock, log, shard, due, run };
}

const away = new AtollError('unavailable', 'the store is away');

test('an input that fails is sent again, with pauses that grow up to a minute', async () => {
  const { due, clock, log } = scene((n) => (n < 9 ? away : 'done'));
  await due.send(RUN, DUE);
  await clock.advanceSettled(600_000);
  const at = log.map((line) => Number(line.split(' ').at(-1)));
  expect(at).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183]); // Nothing after it was taken.
});

test('after obsolete the work is armed again; taken, its commit has done so', async () => {
  const obsolete = scene(() => 'obsolete');
  await obsolete.due.send(RUN, DUE);
  expect(obsolete.log).toEqual(['timer-due at 0', 'sync']);
  const done = scene(() => 'done');
  await done.due.send(RUN, DUE);
  expect(done.log).toEqual(['timer-due at 0']);
});

test('it ends with its run, and with the ownership', async () => {
  const gone = scene(() => new AtollError('not-found', 'no such run'));
  await gone.due.send(RUN, DUE);
  await gone.clock.advanceSettled(600_000);
  expect(gone.log).toEqual(['timer-due at 0', 'forget']);
  const ended = scene(() => away);
  await ended.due.send(RUN, DUE);
  ended.shard.ended = away;
  await ended.clock.advanceSettled(600_000);
  expect(ended.log).toEqual(['timer-due at 0']);
});

test('a grant of heartbeats that failed is asked for again before the clock is', async () => {
  const { due, clock, log, run } = scene((n) => (n === 1 ? away : 'done'));
  const activities = run.head.activities as Map<number, object>;
  activities.set(5, { started: { at: 50 } });
  await due.send(RUN, { kind: 'timer-due', key: 'at:5:1:Heartbeat' });
  await clock.advanceSettled(2_000);
  expect(log).toEqual(['grant-heartbeats at 0', 'grant-heartbeats at 1', 'timer-due at 1']);
});
