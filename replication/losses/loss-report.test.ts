import { expect, test } from 'vitest';
import { silentLog } from '../../kernel/log.ts';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { VirtualClock } from '../../kernel/testing/virtual-clock.ts';
import { LossRecorder } from './loss-recorder.ts';
import { lossReportText } from './loss-report-text.ts';
import type { LostExecution } from '../../cell/shard/replicas/loss.ts';
import { MemoryLosses } from '../memory/losses.ts';

const ORDER: LostExecution = {
  workflowId: 'order`7\n# no heading',
  runId: 'r-7',
  outcome: 'rolled-back',
  transitions: { from: 4, to: 6, epoch: 1 },
  rolledBack: ['WorkflowExecutionSignaled', 'ActivityTaskCompleted'],
  reapplied: ['pay'],
  mayHaveRunTwice: ['charge'],
};

test('the report says per execution what was rolled back, applied again and may have run twice', () => {
  const adopted = { ...ORDER, workflowId: 'b', outcome: 'adopted' as const, rolledBack: [] };
  const report = { namespaceId: 'n', epoch: 2, executions: [adopted, ORDER], omitted: 3 };
  expect(lossReportText(report)).toBe(`# Loss report of namespace n, epoch 2

5 executions affected.

## Rolled back: the last steps of these executions did not survive (1)

- \`\` order\`7 # no heading \`\`, run \`r-7\`: steps 4 to 6 of epoch 1
  - rolled back: \`WorkflowExecutionSignaled\`, \`ActivityTaskCompleted\`
  - applied again: \`pay\`
  - may have run twice: \`charge\`

## Adopted: known to the lost cell alone, they go on (1)

- \`b\`, run \`r-7\`: steps 4 to 6 of epoch 1
  - applied again: \`pay\`
  - may have run twice: \`charge\`

3 executions more are not listed.
`);
});

test('a report of nothing says so', () => {
  const none = { namespaceId: 'n', epoch: 2, executions: [], omitted: 0 };
  expect(lossReportText(none)).toContain('Nothing was lost.');
});

test('losses are kept behind the shards, through failures, and counted beyond the limit', async () => {
  const clock = new VirtualClock();
  const losses = new MemoryLosses();
  let failures = 2;
  const add = losses.add.bind(losses);
  losses.add = async (batch) => {
    if (failures-- > 0) throw new Error('the database is away');
    return add(batch);
  };
  const recorder = recorderOf({ losses, clock, reportLimit: 3 });
  for (let i = 1; i <= 5; i += 1) {
    void recorder.keep({ namespaceId: 'n', epoch: 2, execution: { ...ORDER, runId: `r-${i}` } });
  }
  const asked = recorder.report('n', new AbortController().signal);
  await clock.advanceSettled(10_000);
  const report = await asked;
  expect(report.executions.map(({ runId }) => runId)).toEqual(['r-1', 'r-2', 'r-3']);
  expect(report).toMatchObject({ epoch: 2, omitted: 2 });
});

test('a report ends with its caller, however long the store takes', async () => {
  const clock = new VirtualClock();
  const losses = new MemoryLosses();
  losses.add = () => new Promise(() => {});
  const recorder = recorderOf({ losses, clock });
  void recorder.keep({ namespaceId: 'n', epoch: 2, execution: ORDER });
  const caller = new AbortController();
  const report = recorder.report('n', caller.signal);
  caller.abort(new Error('the caller has gone'));
  await expect(report).rejects.toThrow('the caller has gone');
});

test('a report does not wait for what is recorded after it was asked for', async () => {
  const clock = new VirtualClock();
  const losses = new MemoryLosses();
  const recorder = recorderOf({ losses, clock });
  const keep = (runId: string) =>
    void recorder.keep({ namespaceId: 'n', epoch: 2, execution: { ...ORDER, runId } });
  const add = losses.add.bind(losses);
  let saves = 0;
  losses.add = async (batch) => {
    await Promise.resolve();
    saves += 1;
    // There is always something more to save, until the store hangs.
    keep(`r-${saves}`);
    return saves < 3 ? add(batch) : new Promise(() => {});
  };
  keep('r-0');
  const asked = recorder.report('n', new AbortController().signal);
  await clock.advanceSettled(100);
  expect((await asked).executions.map(({ runId }) => runId)).toContain('r-0');
  expect(saves).toBe(3);
});

function recorderOf(parts: {
  readonly losses: MemoryLosses;
  readonly clock: VirtualClock;
  readonly reportLimit?: number;
}): LossRecorder {
  const { reportLimit = 100, ...rest } = parts;
  const [rng, config] = [new SeededRng(1), { reportLimit }];
  return new LossRecorder({ ...rest, rng, config, log: silentLog });
}
