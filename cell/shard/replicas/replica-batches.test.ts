import { describe, expect, test } from 'vitest';
import type { AtollError } from '../../../kernel/errors.ts';
import type { ReplicatedStep } from './replicas.ts';
import type { StatementFate } from '../../storage/memory/store-faults.ts';
import type { Host } from '../testing/shard-lab.ts';
import { digest, forever, kinds, twoCells } from '../testing/two-hosts.ts';

/** What every append meets from here on. */
const appends = (host: Host, fate: StatementFate) => {
  host.fate = ({ kind }) => (kind === 'append' ? fate : undefined);
};

describe('steps that come together', () => {
  test('travel in one row, those of a new run too', async () => {
    const { a, b, ship } = await twoCells();
    for (const id of ['w', 'x']) {
      await a.start(id);
      await a.signal(id, 'r1');
      await a.signal(id, 'r2');
    }
    const before = b.ownership.log.committed;
    expect(new Set(kinds(await ship('a')))).toEqual(new Set(['applied']));
    expect(b.ownership.log.committed).toBe(before + 1);
    expect(await digest(b, 'w')).toEqual(await digest(a, 'w'));
  });

  test('are answered for once their row is durable, also where they are known or leave a gap', async () => {
    const { a, b, apply, first, rest } = await prepared();
    await a.signal('w', 'r3');
    await a.signal('w', 'r4');
    const gap = a.fed.flatMap((row) => row.steps).slice(-1);
    await apply(first);
    appends(b, { kind: 'ok', answerMs: 500 });
    const answers: unknown[] = [];
    for (const [i, some] of [rest, rest, gap].entries()) {
      void apply(some).then((answer) => (answers[i] = answer));
    }
    await b.settle(400);
    expect(answers).toEqual([]);
    await b.settle(200);
    expect(answers).toEqual([['applied', 'applied'], ['known', 'known'], ['gap']]);
  });

  test('are answered for by nobody if their row never is', async () => {
    const { b, apply, first, rest } = await prepared();
    await apply(first);
    appends(b, { kind: 'lost', failMs: 1 });
    const asked = [apply(rest), apply(rest)];
    await b.settle(30_000);
    const open = ['later', 'later'];
    expect(await Promise.all(asked)).toEqual([open, open]);
  });

  test('stand for themselves: one that cannot be folded leaves those before it, and a gap behind it', async () => {
    const { a, b, apply, first, rest } = await prepared();
    const [step, last] = rest;
    if (!step || !last) throw new Error('nothing was fed');
    const changes = step.transition.changes.map((change) =>
      'eventId' in change ? { ...change, eventId: 99 } : change,
    );
    const poison = { ...step, transition: { ...step.transition, changes } };
    expect(await apply([...first, poison, last])).toEqual(['applied', 'refused', 'gap']);
    expect(await apply([...first, ...rest])).toEqual(['known', 'applied', 'applied']);
    expect(await digest(b, 'w')).toEqual(await digest(a, 'w'));
  });
});

/** A run of three transitions at `a`, and the means to bring them to `b`. */
async function prepared() {
  const { a, b } = await twoCells();
  await a.start('w');
  await a.signal('w', 'r1');
  await a.signal('w', 'r2');
  const steps = a.fed.flatMap((row) => row.steps);
  const apply = (some: readonly ReplicatedStep[]) =>
    b.shards
      .replicas()
      .apply(some, forever)
      .then(kinds, (error: AtollError) => error.code);
  return { a, b, apply, first: steps.slice(0, 1), rest: steps.slice(1) };
}
