import { expect, test } from 'vitest';
import { VirtualClock, settlePromises } from '../../kernel/testing/virtual-clock.ts';
import type { RunState } from '../history/state.ts';
import type { Seq, ShardId } from '../storage/shard-log.ts';
import type { ShardViews } from '../storage/views.ts';
import { CachedRun } from './cached.ts';
import { defaultShardConfig } from './config.ts';
import { ShardMemory } from './shard-memory.ts';
import { ViewLoader } from './view-loader.ts';

function memoryOf(runs: ShardViews['runs'], cachedRunLimit = 1) {
  const loader = new ViewLoader({ runs } as ShardViews, new VirtualClock(), 5_000);
  const config = { ...defaultShardConfig, cachedRunLimit };
  return new ShardMemory({ shard: 0 as ShardId, loader, config });
}

function run(runId: string): CachedRun {
  const state = { nextEventId: 1 } as RunState;
  const ref = { namespaceId: 'ns', workflowId: 'wf', runId };
  return new CachedRun({
    ref,
    head: state,
    committed: state,
    seq: 0 as Seq,
    storedWork: new Map(),
  });
}

test('what was saved while a read was under way is not forgotten before that read ends', async () => {
  let answer = () => {};
  const memory = memoryOf(
    (keys) => new Promise((resolve) => (answer = () => resolve(keys.map(() => undefined)))),
  );
  const made = run('a');
  // The read began before the run was made: its snapshot shows nothing.
  const loading = memory.loadRun(made.ref);
  await settlePromises();
  made.dirty = true;
  memory.addRun(made);
  made.savedIn = memory.saved();
  made.dirty = false;
  for (const id of ['b', 'c', 'd']) memory.addRun(run(id));
  expect(memory.peekRun(made.ref)).toBe(made);
  answer();
  expect(await loading).toBe(true);
  memory.trim();
  for (const id of ['e', 'f']) memory.addRun(run(id));
  expect(memory.peekRun(made.ref)).toBeUndefined();
});

test.each([
  ['a start that is not durable', (one: CachedRun) => (one.committed = undefined)],
  ['changes that no checkpoint covers', (one: CachedRun) => (one.dirty = true)],
  ['a row that is queued for the index', (one: CachedRun) => (one.indexQueued = 1)],
  ['a long poll', (one: CachedRun) => one.waiters.add(() => {})],
])('a run with %s is not forgotten', (_, pin) => {
  const memory = memoryOf(async () => []);
  const kept = run('kept');
  pin(kept);
  memory.addRun(kept);
  for (const id of ['a', 'b', 'c']) memory.addRun(run(id));
  expect(memory.peekRun(kept.ref)).toBe(kept);
  expect(memory.size).toBeLessThanOrEqual(2);
});

test('a run id of another workflow id finds nothing', () => {
  const memory = memoryOf(async () => []);
  memory.addRun(run('a'));
  expect(memory.peekRun({ namespaceId: 'ns', workflowId: 'other', runId: 'a' })).toBeUndefined();
  expect(memory.peekRun({ namespaceId: 'other', workflowId: 'wf', runId: 'a' })).toBeUndefined();
});
