import { expect, test } from 'vitest';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { encodeCbor } from '../../../wire/cbor.ts';
import { encodeEvents } from '../../../wire/event-codec.ts';
import { Lab } from '../../history/testing/lab.ts';
import { activity, startInput, startTimer } from '../../history/testing/inputs.ts';
import type { RunState } from '../../history/state.ts';
import type { Transition } from '../../history/transition.ts';
import { decodeRecord, encodeRecord, encodeStep } from './record-codec.ts';

/** Transitions as the core makes them: starts, completions with commands, signals, failures. */
function transitions(rng: SeededRng): readonly Transition[] {
  const lab = new Lab();
  lab.begin(startInput({ requestId: `r${rng.integer(1, 9)}` }));
  for (let i = 0; i < 12; i += 1) {
    lab.now += rng.integer(0, 5_000);
    lab.ask({ kind: 'signal', requestId: `s${i}`, name: 'go', identity: 'c' });
    const task = lab.state.workflowTask;
    if (!task) continue;
    const { scheduledEventId, attempt } = task;
    const started = lab.ask({
      kind: 'start-workflow-task',
      scheduledEventId,
      attempt,
      requestId: `p${i}`,
      identity: 'w',
    });
    if (started.kind !== 'start') continue;
    const commands = rng.chance(0.5)
      ? [startTimer(`t${i}`, rng.integer(1, 9))]
      : [activity(`a${i}`)];
    const claim = started.start;
    if (rng.chance(0.3)) lab.ask({ kind: 'signal', requestId: `b${i}`, name: 'go', identity: 'c' });
    if (rng.chance(0.3))
      lab.ask({ kind: 'fail-workflow-task', claim, cause: 0, identity: 'w', binaryChecksum: '' });
    else
      lab.ask({
        kind: 'complete-workflow-task',
        claim,
        identity: 'w',
        commands,
        forceNewTask: false,
        binaryChecksum: '',
      });
  }
  return [...lab.transitions.values()].flat();
}

/** What must survive: events by their bytes, patches and the rest as they are. */
function meaning({ changes, ...rest }: Transition) {
  return {
    ...rest,
    changes: changes.map((each) => ('eventId' in each ? Buffer.from(encodeEvents([each])) : each)),
  };
}

test.each([1, 2, 3, 4, 5])('seed %i: a record gives back its transitions', (seed) => {
  const made = transitions(new SeededRng(seed));
  const steps = made.map((each, i) =>
    encodeStep({ ...each, namespaceId: `ns-${i % 3}` }, { historyBytes: 0 } as RunState),
  );
  const back = decodeRecord(encodeRecord(steps)).steps;
  expect(back.map((step) => meaning(step.transition))).toEqual(
    steps.map((step) => meaning(step.transition)),
  );
  for (const [i, { events, firstEventId, lastEventId }] of back.entries()) {
    const step = steps[i];
    expect([Buffer.from(events), firstEventId, lastEventId]).toEqual([
      Buffer.from(step?.events ?? []),
      step?.firstEventId,
      step?.lastEventId,
    ]);
  }
  expect(made.length).toBeGreaterThan(10);
});

test.each([0, 1, 23, 24, 255, 256])('a record of %i steps is what CBOR makes of it', (count) => {
  const steps = Array.from({ length: count }, (_, i) => {
    const transition: Transition = {
      ...{ namespaceId: `n${i % 30}`, workflowId: 'w', runId: 'r', number: i, epoch: 1, at: 5 },
      changes: [{ kind: 'start-request', requestId: `q${i}` }],
      ...(i % 3 === 0 ? { previousEpoch: 7 } : {}),
    };
    return { transition, events: Uint8Array.of(i % 250) };
  });
  const namespaces = [...new Set(steps.map(({ transition }) => transition.namespaceId))];
  const plain = steps.map(({ transition: t, events }) => [
    ...[namespaces.indexOf(t.namespaceId), t.workflowId, t.runId, t.number, t.epoch, t.at, events],
    ...[t.changes.map((change) => [0, change]), null],
    ...(t.previousEpoch === undefined ? [] : [t.previousEpoch]),
  ]);
  const expected = Buffer.concat([Uint8Array.of(1), encodeCbor([namespaces, plain])]);
  expect(Buffer.from(encodeRecord(steps))).toEqual(expected);
  // Alone, in a record of its own, the second time from what is known of it.
  for (const [i, step] of steps.slice(0, 3).entries()) {
    const alone = [[step.transition.namespaceId], [[0, ...(plain[i] ?? []).slice(1)]]];
    const own = Buffer.concat([Uint8Array.of(1), encodeCbor(alone)]);
    expect(Buffer.from(encodeRecord([step]))).toEqual(own);
  }
});

test('a record of no steps is a record', () => {
  expect(decodeRecord(encodeRecord([]))).toEqual({
    steps: [],
    marks: [],
    adoptions: [],
    removals: [],
  });
});

test('a removal is read as it was written', () => {
  const removal = {
    ...{ namespaceId: 'n', workflowId: 'w', runId: 'r' },
    ...{ historyIds: ['r', 'h'], execution: true },
  };
  const record = encodeRecord([], { marks: [], adoptions: [], removals: [removal] });
  expect(decodeRecord(record).removals).toEqual([removal]);
});

test.each([0, 4, 255])('format %i is refused, with what to do', (format) => {
  const record = encodeRecord([]);
  record[0] = format;
  expect(() => decodeRecord(record)).toThrow('start the release that wrote it');
});
