import { expect, test } from 'vitest';
import { VirtualClock, settlePromises } from '../../../kernel/testing/virtual-clock.ts';
import type { RunState } from '../../history/state.ts';
import type { Seq, ShardId } from '../../storage/shard-log.ts';
import type { ShardViews } from '../../storage/views.ts';
import { CachedRun } from './cached.ts';
import { defaultShardConfig } from '../config.ts';
import { ShardMemory } from './shard-memory.ts';
import { ViewLoader } from '../views/view-loader.ts';

function memoryOf(runs: ShardViews['runs'], cachedRunLimit = 1) {
  const executions: ShardViews['executions'] = async (keys) => keys.map(() => undefined);
  const views = { runs, executions } as ShardViews;
  const loader = new ViewLoader(views, new VirtualClock(), 5_000);
  const config = { ...defaultShardConfig, cachedRunLimit };
  return new ShardMemory({ shard: 0 as ShardId, loader, config, end: 5 as Seq });
}

function run(runId: string, seq = 0): CachedRun {
  const state = { nextEventId: 1 } as RunState;
  const ref = { namespaceId: 'ns', workflowId: 'wf', runId };
  return new CachedRun({
    ref,
    head: state,
    committed: state,
    seq: seq as Seq,
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

test('says which runs changed after a seq only while it holds all of them', () => {
  const memory = memoryOf(() => Promise.reject(new Error('nothing is read')), 2);
  const names = (seq: number) => memory.changedAfter(seq as Seq)?.map(({ ref }) => ref.runId);
  expect(names(4)).toBeUndefined(); // Before it began: the views know.
  memory.addRun(run('a', 6));
  memory.addRun(run('b', 8));
  expect(names(5)).toEqual(['a', 'b']);
  expect(names(6)).toEqual(['b']);
  memory.addRun(run('c', 9)); // One too many: the oldest is forgotten.
  expect(names(5)).toBeUndefined();
  expect(names(6)).toEqual(['b', 'c']);
  memory.forget(run('c').ref);
  expect(names(8)).toBeUndefined();
  expect(names(9)).toEqual([]);
});

/** Saves it as a checkpoint does. */
function save(memory: ShardMemory, one: CachedRun): void {
  one.savedIn = memory.saved();
  one.dirty = false;
}

type Meanwhile = (one: CachedRun, memory: ShardMemory) => void;

test.each<[string, Meanwhile, Meanwhile, boolean]>([
  ['was saved before', () => {}, () => {}, true],
  ['was never saved', (one) => (one.dirty = true), () => {}, false],
  ['is saved meanwhile', (one) => (one.dirty = true), (one, memory) => save(memory, one), false],
  ['changes meanwhile', () => {}, (one) => (one.dirty = true), false],
  ['changes and is saved meanwhile', () => {}, (one, memory) => save(memory, one), false],
  [
    'is removed meanwhile',
    () => {},
    (one, memory) => memory.remove({ ...one.ref, historyIds: [], execution: false }),
    false,
  ],
  ['is not durable', (one) => (one.committed = undefined), () => {}, false],
])('a run that %s and has no row is lost or not', async (_, before, meanwhile, isLost) => {
  let answer = () => {};
  const memory = memoryOf(
    (keys) => new Promise((resolve) => (answer = () => resolve(keys.map(() => undefined)))),
  );
  const one = run('a', 3);
  memory.addRun(one);
  before(one, memory);
  const asked = memory.lacksRows(one.ref);
  await settlePromises();
  meanwhile(one, memory);
  answer();
  expect(await asked).toBe(isLost);
  expect(one.unstored).toBe(isLost);
});
