import { describe, expect, test } from 'vitest';
import { HANDOVER, REFUSED_HEADER } from '../../../fleet/call-headers.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { settlePromises } from '../../../kernel/testing/virtual-clock.ts';
import { activity, startTimer } from '../../history/testing/inputs.ts';
import { encodeRun, runOfRow } from '../views/work-rows.ts';
import { calling, type Host, NS, QUEUE, type ShardLab, wf } from '../testing/shard-lab.ts';
import { asIs, digest, forever, image, kinds, placed, twoCells } from '../testing/two-hosts.ts';

const signalsOf = async (host: Host, id: string) =>
  (await host.shards.read(wf(id), calling())).state.signalCount;

describe('a replica', () => {
  test('that applies what its source decided has an equal digest, also as it is stored', async () => {
    const { a, b, ship } = await twoCells();
    await a.start('w');
    await a.work('w', [startTimer('t', 60), activity('act')]);
    await a.signal('w', 'r1');
    expect(new Set(kinds(await ship('a')))).toEqual(new Set(['applied']));
    expect(await digest(b, 'w')).toEqual(await digest(a, 'w'));
    await b.settle();
    await a.settle();
    expect(await digest(b, 'w', true)).toEqual(await digest(a, 'w', true));
  });

  test('drives nothing and answers nothing', async () => {
    const { a, b, ship } = await twoCells();
    await a.start('w');
    await ship('a');
    await b.settle();
    expect(b.matching.backlog(QUEUE).tasks).toBe(0);
    await expect(b.signal('w')).rejects.toThrow('is active in cell there');
    await expect(b.shards.read(wf('w'), calling())).rejects.toThrow('is active in cell there');
    await expect(b.shards.read(wf('none'), calling())).rejects.toThrow('is active in cell there');
    expect(() => b.shards.assertActing(NS)).toThrow('is active in cell there');
  });

  test('knows what it has, and says what it lacks', async () => {
    const { a, b, ship } = await twoCells();
    await a.start('w');
    await a.signal('w', 'r1');
    await a.signal('w', 'r2');
    const steps = a.fed.flatMap((row) => row.steps);
    const apply = (some: typeof steps) => b.shards.replicas().apply(some, forever);
    expect(await apply(steps.slice(1))).toEqual([
      { kind: 'gap', have: 0 },
      { kind: 'gap', have: 0 },
    ]);
    expect(kinds(await ship('a'))).toEqual(['applied', 'applied', 'applied']);
    expect(kinds(await apply(steps))).toEqual(['known', 'known', 'known']);
  });

  test('refuses a transition that cannot be folded, and goes on', async () => {
    const { a, b, ship } = await twoCells();
    await a.start('w');
    await ship('a');
    await a.signal('w', 'r1');
    const [step] = a.fed.at(-1)?.steps ?? [];
    if (!step) throw new Error('nothing was fed');
    const poison = {
      ...step,
      transition: {
        ...step.transition,
        changes: [
          { kind: 'workflow-task-unstuck' } as const,
          ...step.transition.changes.map((change) =>
            'eventId' in change ? { ...change, eventId: 99 } : change,
          ),
        ],
      },
    };
    const [outcome] = await b.shards.replicas().apply([poison], forever);
    expect(outcome?.kind).toBe('refused');
    expect(kinds(await ship('a'))).toEqual(['applied']);
  });

  test('that fell behind takes the whole run, and what follows', async () => {
    const { a, b, ship } = await twoCells();
    await a.start('w');
    await ship('a');
    await a.work('w', [startTimer('t', 60)]);
    await a.signal('w', 'r1');
    const taken = await b.shards.replicas().adopt(await image(a, 'w'), asIs, forever);
    expect(taken.kind).toBe('applied');
    expect(new Set(kinds(await ship('a')))).toEqual(new Set(['known']));
    await a.signal('w', 'r2');
    expect(kinds(await ship('a'))).toEqual(['applied']);
    await b.settle();
    expect(await digest(b, 'w', true)).toEqual(await digest(a, 'w'));
  });

  test('is the same after its owner died', async () => {
    const { a, b, labB, ship } = await twoCells();
    await a.start('w');
    await ship('a');
    await b.shards.replicas().adopt(await image(a, 'w'), asIs, forever);
    await a.signal('w', 'r1');
    await ship('a');
    const again = await labB.host();
    again.placement = placed('1@1');
    expect(await digest(again, 'w', true)).toEqual(await digest(a, 'w'));
  });
});

describe('a planned move', () => {
  test('closes the source behind a gate, and the target drives what the source had', async () => {
    const { a, b, ship, move } = await twoCells();
    await a.start('w');
    await a.work('w', [activity('act')]);
    await a.signal('w', 'r1');
    a.placement = placed('2@1 active handover');
    const ask = { namespaceId: NS, moveId: 'm', revision: 2 };
    const parked = a.matching.poll({ ...QUEUE, name: 'idle' }, { identity: 'p', signal: forever });
    const [barrier] = await a.shards.replicas().gate(ask, forever);
    expect(barrier?.seq).toBe(a.ownership.log.committed);
    expect(await parked).toBeUndefined();
    const refusal = await a.signal('w', 'r2').catch((error: unknown) => error);
    expect(refusal).toMatchObject({ trailers: { [REFUSED_HEADER]: HANDOVER } });
    expect(refusal).toBeInstanceOf(AtollError);
    await ship('a');
    move('3@2', 'b');
    await b.shards.replicas().observe(NS, forever);
    await a.shards.replicas().observe(NS, forever);
    await settlePromises();
    expect(b.matching.backlog(QUEUE).tasks).toBe(1);
    await b.signal('w', 'r2');
    expect(await signalsOf(b, 'w')).toBe(2);
    await expect(a.signal('w', 'r3')).rejects.toThrow('is active in cell there');
    expect(kinds(await ship('b')).at(-1)).toBe('applied'); // What came from a is known.
    expect(await digest(a, 'w')).toEqual(await digest(b, 'w'));
  });

  test('that is rolled back opens the source again, by the map alone', async () => {
    const { a } = await twoCells();
    await a.start('w');
    a.placement = placed('2@1 active handover');
    await a.shards.replicas().gate({ namespaceId: NS, moveId: 'm', revision: 2 }, forever);
    await a.settle(60_000);
    await expect(a.signal('w')).rejects.toThrow('is moving to another cell');
    a.placement = placed('3@1 active');
    await a.signal('w', 'r1');
    await settlePromises();
    expect(a.matching.backlog(QUEUE).tasks).toBe(1);
    await a.work('w');
  });

  test('is remembered by the next owner of a shard', async () => {
    const { a, labA } = await twoCells();
    await a.start('w');
    a.placement = placed('2@1 active handover');
    await a.shards.replicas().gate({ namespaceId: NS, moveId: 'm', revision: 2 }, forever);
    await a.settle();
    const again = await labA.host();
    again.placement = placed('1@1 active'); // Its map is older than the gate.
    await expect(again.signal('w')).rejects.toThrow('is moving to another cell');
  });

  test('closes a shard that heard late of the move before it', async () => {
    const { a } = await twoCells();
    await a.start('w');
    a.placement = placed('9@3 active handover'); // Back here in epoch 3, and on its way again since revision 8.
    await a.shards.replicas().observe(NS, forever);
    await a.shards.replicas().gate({ namespaceId: NS, moveId: 'm', revision: 8 }, forever);
    await expect(a.signal('w')).rejects.toThrow('is moving to another cell');
    a.placement = placed('10@3 active');
    await a.signal('w');
  });

  test('is not begun against a map that does not show it', async () => {
    const { a } = await twoCells();
    const gate = a.shards.replicas().gate({ namespaceId: NS, moveId: 'm', revision: 2 }, forever);
    await expect(gate).rejects.toThrow('is not in handover');
  });

  test('of a move that is over is not begun by a map from before its end', async () => {
    const { a, labA } = await twoCells();
    await a.start('w');
    a.placement = placed('2@1 active handover');
    await a.shards.replicas().gate({ namespaceId: NS, moveId: 'm', revision: 2 }, forever);
    a.placement = placed('3@1 active');
    await a.signal('w', 'r1');
    await a.settle();
    const again = await labA.host();
    again.placement = placed('2@1 active handover'); // What the cell had saved last.
    const late = { namespaceId: NS, moveId: 'm', revision: 2 };
    await expect(again.shards.replicas().gate(late, forever)).rejects.toThrow('is not in handover');
    await again.signal('w', 'r2');
  });

  test('fails a workflow task that was durably started before it', async () => {
    const { a, b, ship, move } = await twoCells();
    await a.start('w');
    await a.startTask(await a.poll());
    await a.signal('w', 'r1'); // Carries the start, and is buffered.
    await ship('a');
    move('2@2', 'b');
    await b.shards.replicas().observe(NS, forever);
    await b.settle();
    const { state } = await b.shards.read(wf('w'), calling());
    expect(state.workflowTask).toMatchObject({ attempt: 1, transient: false });
    expect(state.workflowTask?.started).toBeUndefined();
    expect(state.signalCount).toBe(1);
    expect(b.matching.backlog(QUEUE).tasks).toBe(1);
  });
});

describe('after a forced failover', () => {
  test('the losing branch is given up, and its signals are applied once by the winner', async () => {
    const { a, b, labA, ship, move, losses } = await twoCells();
    await a.start('w');
    await ship('a');
    await a.signal('w', 'unheard-1');
    await a.signal('w', '');
    move('2@2', 'b');
    await b.shards.replicas().observe(NS, forever);
    await b.signal('w', 'after');
    const lost = await ship('a');
    expect(kinds(lost)).toEqual(['lost', 'lost']);
    expect(losses.at(-1)).toMatchObject({
      epoch: 2,
      execution: {
        outcome: 'rolled-back',
        transitions: { from: 2, to: 3, epoch: 1 },
        reapplied: ['signal go', 'signal go'],
      },
    });
    expect(await signalsOf(b, 'w')).toBe(3);
    const again = a.fed.flatMap((row) => row.steps);
    await b.shards.replicas().apply(again, forever);
    expect(await signalsOf(b, 'w')).toBe(3);
    await a.shards.replicas().observe(NS, forever);
    expect(kinds(await ship('b')).at(-1)).toBe('diverged');
    const taken = await a.shards.replicas().adopt(await image(b, 'w'), asIs, forever);
    expect(taken.kind).toBe('applied');
    await a.settle();
    const rows = [...labA.tables.history.values()].flatMap((each) => [...each.values()]);
    const { runId } = (await image(b, 'w')).state;
    const kept = rows.filter((row) => row.runId === runId).map((row) => row.lastEventId);
    expect(Math.max(...kept)).toBe(4); // Both signals are still there to be read.
    expect(await digest(a, 'w', true)).toEqual(await digest(b, 'w'));
  });

  test('a request that only the losing branch had taken is new again', async () => {
    const { a, b, ship, move } = await twoCells();
    await a.start('w');
    await ship('a');
    await a.ask('w', { kind: 'request-cancel', requestId: 'c', reason: '', identity: 'client' });
    move('2@2', 'b');
    await b.shards.replicas().observe(NS, forever);
    await b.signal('w', 'after');
    await a.shards.replicas().observe(NS, forever);
    await a.shards.replicas().adopt(await image(b, 'w'), asIs, forever);
    await a.settle();
    const { execution } = await a.ownership.at(wf('w'), forever, (found) => found);
    expect(execution.ledger.find('c')).toBeUndefined();
    expect(execution.ledger.find('after')?.kind).toBe('signal');
    expect(await digest(a, 'w', true)).toEqual(await digest(b, 'w'));
  });

  test('a standby answers for a branch that lost there only once the acting cell has it', async () => {
    const { a, b, ship, move } = await twoCells();
    await a.start('w');
    await ship('a');
    await a.signal('w', 'unheard');
    move('2@2', 'b');
    await b.shards.replicas().observe(NS, forever);
    await b.signal('w', 'after');
    move('3@3', 'a'); // b stands by again before it heard of the branch of a.
    await b.shards.replicas().observe(NS, forever);
    expect(kinds(await ship('a')).at(-1)).toBe('undecided');
  });

  test('what the winner has not touched goes on where the loser left it', async () => {
    const { a, b, ship, move } = await twoCells();
    await a.start('w');
    await ship('a');
    await a.signal('w', 'late');
    move('2@2', 'b');
    await b.shards.replicas().observe(NS, forever);
    expect(kinds(await ship('a'))).toEqual(['applied']);
    expect(await signalsOf(b, 'w')).toBe(1);
  });

  test('a run whose id was taken since is kept, closed', async () => {
    const { a, b, ship, move, losses } = await twoCells();
    await a.start('w');
    move('2@2', 'b');
    await b.shards.replicas().observe(NS, forever);
    await b.start('w', { requestId: 'other' });
    const [lost] = await ship('a');
    expect(lost).toEqual({ kind: 'lost' });
    expect(losses).toMatchObject([{ execution: { outcome: 'superseded' } }]);
    await a.shards.replicas().observe(NS, forever);
    const { state } = await b.shards.read(wf('w'), calling());
    expect(state.closedAt).toBeUndefined();
    await ship('b');
  });

  test('failing back within the lag applies a signal once', async () => {
    const { a, b, ship, move } = await twoCells();
    await a.start('w');
    await ship('a');
    await a.signal('w', '');
    move('2@2', 'b');
    await b.shards.replicas().observe(NS, forever);
    await b.signal('w', 'other');
    await ship('a'); // b applies the lost signal again.
    move('3@3', 'a');
    await a.shards.replicas().observe(NS, forever);
    await a.signal('w', 'third');
    expect(kinds(await ship('b'))).toEqual(['known', 'lost', 'lost']); // The first came from a.
    expect(await signalsOf(a, 'w')).toBe(3);
  });
});

describe('a damaged replica', () => {
  const damages: readonly [string, (lab: ShardLab) => void][] = [
    [
      'an event',
      ({ tables }) => {
        for (const rows of tables.history.values()) {
          for (const row of rows.values()) {
            const events = Uint8Array.from(row.events);
            events[events.length - 1] = (events.at(-1) ?? 0) ^ 1;
            rows.set([...rows.keys()][0] ?? '', { ...row, events });
          }
        }
      },
    ],
    [
      'its state',
      ({ tables }) => {
        for (const [key, row] of tables.runs) {
          const { state } = runOfRow(row);
          const changed = { ...state, signalCount: state.signalCount + 1 };
          tables.runs.set(key, { ...row, state: encodeRun(changed, ownBranch(state.runId)) });
        }
      },
    ],
    ['the run itself', ({ tables }) => tables.runs.clear()],
  ];

  test.each(damages)(
    'in %s shows in its digest, and is repaired by an image',
    async (_, damage) => {
      const { a, b, labB, ship } = await twoCells();
      await a.start('w');
      await a.signal('w', 'r1');
      await ship('a');
      await b.settle(10_000);
      damage(labB);
      const replicas = b.shards.replicas();
      const whole = await image(a, 'w');
      const ref = { namespaceId: NS, workflowId: 'w', runId: whole.state.runId };
      const ask = async () => (await replicas.digests([ref], { recompute: true }, forever))[0];
      expect(await ask()).not.toEqual(await digest(a, 'w'));
      expect(await replicas.adopt(whole, { repair: true }, forever)).toEqual({ kind: 'applied' });
      await b.settle(10_000);
      expect(await ask()).toEqual(await digest(a, 'w'));
    },
  );
});

const ownBranch = (runId: string) => ({ historyId: runId, lost: [] });
