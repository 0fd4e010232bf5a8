import { describe, expect, test } from 'vitest';
import { Lab } from '../../history/testing/lab.ts';
import { startInput } from '../../history/testing/inputs.ts';
import { holdsOrigin } from '../../history/origin.ts';
import { lostInBranch, lostInTransition } from './losing-branch.ts';

/** A run with its first workflow task scheduled, or durably started, so that what comes in is buffered. */
function run(task: 'scheduled' | 'started'): Lab {
  const lab = new Lab();
  lab.begin(startInput());
  if (task === 'scheduled') return lab;
  const { scheduledEventId = 0, attempt = 1 } = lab.state.workflowTask ?? {};
  const poll = { scheduledEventId, attempt, requestId: 'poll', identity: 'worker' };
  lab.ask({ kind: 'start-workflow-task', ...poll });
  // The first record that touches the run carries the start (D7).
  lab.ask({ kind: 'signal', requestId: 'first', name: 'go', identity: 'client' });
  return lab;
}

const noIds = () => undefined;

/** What came in after the start, told by the transitions one by one, and by the run as a whole. */
function told(lab: Lab) {
  const transitions = (lab.transitions.get(lab.runId) ?? []).slice(1);
  const steps = transitions.flatMap((one) => lostInTransition(one, noIds).inputs);
  const branch = { state: lab.state, ledger: [...lab.ledger.values()] };
  const whole = lostInBranch(branch, lab.events.slice(2), noIds).inputs;
  return { steps, whole };
}

describe('inputs of a losing branch', () => {
  test.each(['scheduled', 'started'] as const)(
    'have one name, whether the branch travels as steps or as a run whose task is %s',
    (task) => {
      const lab = run(task);
      lab.ask({ kind: 'signal', requestId: '', name: 'nameless', identity: 'client' });
      lab.ask({ kind: 'signal', requestId: 's', name: 'named', identity: 'client' });
      lab.ask({ kind: 'signal', requestId: '', name: 'nameless', identity: 'client' });
      lab.ask({ kind: 'request-cancel', requestId: 'c', reason: 'why', identity: 'client' });
      const { steps, whole } = told(lab);
      expect(whole).toEqual(steps);
      const ids = steps.map(({ input }) => ('requestId' in input ? input.requestId : ''));
      expect(new Set(ids).size).toBe(task === 'started' ? 5 : 4);
      expect(ids).not.toContain('');
      expect(ids).toContain('c');
    },
  );

  test('are known to the branch that took them first, wherever they come back from', () => {
    const lab = run('started');
    lab.ask({ kind: 'signal', requestId: '', name: 'nameless', identity: 'client' });
    const [, lost] = told(lab).whole;
    const id = lost && 'requestId' in lost.input ? lost.input.requestId : '';
    const { lineage, runId } = lab.state;
    expect(holdsOrigin(lineage, runId, id)).toBe(true);
    const parted = lineage.map((item) => ({ ...item, transition: item.transition - 1 }));
    expect(holdsOrigin(parted, runId, id)).toBe(false);
    expect(holdsOrigin(lineage, 'another', id)).toBe(false);
    expect(holdsOrigin(lineage, runId, 'named by a client')).toBe(false);
  });

  test('that are applied again keep the name that they had', () => {
    const lab = run('scheduled');
    lab.ask({ kind: 'signal', requestId: '', name: 'nameless', identity: 'client' });
    const [lost] = told(lab).steps;
    const winner = run('scheduled');
    winner.epoch = 2;
    if (lost) winner.ask(lost.input);
    expect(told(winner).steps).toEqual([lost]);
    if (lost) expect(winner.ask(lost.input)).toMatchObject({ kind: 'answer' });
  });
});
