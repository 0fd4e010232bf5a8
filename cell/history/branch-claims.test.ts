import { expect, test } from 'vitest';
import { activity, startInput } from './testing/inputs.ts';
import { Lab } from './testing/lab.ts';
import { completeTask, pollTask } from './testing/worker.ts';

const notFound = { kind: 'refuse', error: { code: 'not-found' } };
const commits = { kind: 'commit' };
/** A worker may show a token of the branch that lost, in which the same numbers were given to something else. */
const SEEN = [
  ['the branch that lost', 1, notFound],
  ['this branch', 2, commits],
  ['a branch that an older release did not name', undefined, commits],
] as const;

/** A run of epoch 1 that has gone on in epoch 2. */
function goneOn(): Lab {
  const lab = new Lab();
  lab.begin(startInput());
  lab.epoch = 2;
  lab.ask({ kind: 'signal', requestId: 's', name: 'go', identity: 'client' });
  return lab;
}

test.each(SEEN)('an activity of %s: its answer', (_, scheduledEpoch, outcome) => {
  const lab = goneOn();
  completeTask(lab, pollTask(lab), [activity('charge')]);
  const [pending] = lab.state.activities.values();
  const scheduledEventId = pending?.scheduledEventId ?? 0;
  const start = { scheduledEventId, attempt: 1, requestId: 'p', identity: 'worker' };
  expect(lab.ask({ kind: 'start-activity', ...start })).toMatchObject({
    reply: { scheduledEpoch: 2 },
  });
  const claim = { scheduledEventId, activityId: 'charge', attempt: 1, scheduledEpoch };
  const input = { claim, identity: 'worker' } as const;
  for (const decided of [
    lab.ask({ kind: 'heartbeat-activity', ...input }),
    lab.ask({ kind: 'complete-activity', ...input, result: undefined }),
  ]) {
    expect(decided).toMatchObject(outcome);
  }
});

test.each(SEEN)(
  'a workflow task of %s, whose start is not known: its answer',
  (_, branchEpoch, outcome) => {
    const lab = goneOn();
    const { start } = pollTask(lab);
    lab.crash();
    const claim = { ...start, branchEpoch };
    const decided = lab.ask({
      ...{ kind: 'complete-workflow-task', claim, identity: 'worker', commands: [] },
      ...{ forceNewTask: false, binaryChecksum: '' },
    });
    expect(decided).toMatchObject(outcome);
    expect(JSON.stringify(lab.state)).not.toContain('branchEpoch');
  },
);
