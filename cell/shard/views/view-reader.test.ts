import { expect, test } from 'vitest';
import { startTimer } from '../../history/testing/inputs.ts';
import { calling, ShardLab, wf } from '../testing/shard-lab.ts';

test('a task that was started in memory alone ends in time, though its clock found no room', async () => {
  const lab = new ShardLab({ timerWindow: 4, checkpointIntervalMs: 500 });
  const host = await lab.host();
  await host.start('w');
  const task = await host.poll();
  for (const id of ['x', 'y', 'z', 'u', 'v']) {
    await host.start(id);
    await host.work(id, [startTimer('t', 9)]);
  }
  // From here on the views have all of it, and the timers fill the window.
  await host.settle(3_000);
  expect(await host.startTask(task)).toMatchObject({ kind: 'started' });
  await host.settle(9_000);
  const { attempt, started } = await pendingTask(host);
  expect(attempt).toBe(1);
  expect(started).toBeUndefined();
  await host.settle(2_000);
  expect((await pendingTask(host)).attempt).toBe(2);
});

async function pendingTask(host: Awaited<ReturnType<ShardLab['host']>>) {
  const { state } = await host.shards.read(wf('w'), calling());
  if (!state.workflowTask) throw new Error('the run has no workflow task');
  return state.workflowTask;
}
