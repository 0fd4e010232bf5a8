import { describe, expect, test } from 'vitest';
import { LossBook, type LostPiece } from './loss-book.ts';
import type { Loss, LossKeeper, LossOutcome } from './loss.ts';

/** Keeps losses as a store does: the newest of an execution, which the next process finds. */
function store() {
  const losses = new Map<string, Loss>();
  let keeps = 0;
  const keeper: LossKeeper = {
    kept: ({ runId }) => Promise.resolve(losses.get(runId)?.execution),
    keep: (loss) => {
      keeps += 1;
      losses.set(loss.execution.runId, loss);
      return Promise.resolve();
    },
  };
  const book = () => {
    const made = new LossBook();
    made.keepIn(keeper);
    return made;
  };
  return { book, execution: () => losses.get('run')?.execution, keeps: () => keeps };
}

function piece(from: number, to: number, outcome: LossOutcome = 'rolled-back'): LostPiece {
  const content = { inputs: [], events: [`${from}-${to}`], closes: false, startedActivities: [] };
  return {
    ref: { namespaceId: 'ns', workflowId: 'wf', runId: 'run' },
    wonBy: 2,
    transitions: { from, to, epoch: 1 },
    outcome,
    content,
    reapplied: [],
  };
}

describe('the book of losses', () => {
  test.each<{ readonly pieces: readonly LostPiece[]; readonly says: object }>([
    { pieces: [piece(5, 5), piece(6, 7)], says: { rolledBack: ['5-5', '6-7'] } },
    { pieces: [piece(6, 7), piece(5, 5)], says: { transitions: { from: 5, to: 7, epoch: 1 } } },
    { pieces: [piece(5, 5), piece(5, 5)], says: { rolledBack: ['5-5'] } },
    { pieces: [piece(5, 7), piece(6, 6)], says: { rolledBack: ['5-7'] } },
    {
      pieces: [piece(1, 1, 'adopted'), piece(5, 5, 'signal-undeliverable')],
      says: { outcome: 'signal-undeliverable' },
    },
    {
      pieces: [piece(1, 5), piece(1, 5, 'superseded')],
      says: { outcome: 'superseded', rolledBack: ['1-5'] },
    },
  ])('says of an execution what all its pieces say: case %#', async ({ pieces, says }) => {
    const { book, execution } = store();
    const one = book();
    await Promise.all(pieces.map((each) => one.note(each)));
    expect(execution()).toMatchObject(says);
  });

  test('keeps what was foretold until more is known, and then that instead', async () => {
    const { book, execution } = store();
    const one = book();
    await one.note(piece(2, 3));
    await one.note({ ...piece(5, 7, 'signal-undeliverable'), foretold: true });
    expect(execution()).toMatchObject({ outcome: 'signal-undeliverable' });
    await one.note({ ...piece(5, 8, 'signal-undeliverable'), foretold: true });
    await one.note({ ...piece(5, 8), reapplied: ['signal go'] });
    expect(execution()).toMatchObject({
      outcome: 'rolled-back',
      rolledBack: ['2-3', '5-8'],
      reapplied: ['signal go'],
    });
    await one.note({ ...piece(2, 3), foretold: true });
    await one.note(piece(2, 3));
    expect(execution()).toMatchObject({ rolledBack: ['2-3', '5-8'], reapplied: ['signal go'] });
  });

  test('goes on from what an earlier process kept', async () => {
    const { book, execution, keeps } = store();
    await book().note(piece(5, 7));
    const next = book();
    await next.note(piece(6, 6));
    expect(keeps()).toBe(1);
    await next.note(piece(8, 8));
    expect(execution()).toMatchObject({
      transitions: { from: 5, to: 8 },
      rolledBack: ['5-7', '8-8'],
    });
  });

  test('has a piece kept before it says so, and again after a failure', async () => {
    const book = new LossBook();
    const kept: Loss[] = [];
    let fails = true;
    book.keepIn({
      kept: () => Promise.resolve(undefined),
      keep: (loss) =>
        fails ? Promise.reject(new Error('away')) : Promise.resolve(void kept.push(loss)),
    });
    await expect(book.note(piece(5, 5))).rejects.toThrow('away');
    fails = false;
    await book.note(piece(5, 5));
    expect(kept).toHaveLength(1);
  });
});
