import { expect, test } from 'vitest';
import { AtollError } from '../../../kernel/errors.ts';
import { settlePromises, VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import type {
  Claim,
  RangeId,
  Seq,
  SessionId,
  ShardId,
  ShardLog,
  Verdict,
} from '../../storage/shard-log.ts';
import { ReadBarrier, type Provable } from './read-barrier.ts';
import { outcomeOf } from '../testing/shard-lab.ts';

type Statement = { readonly claims: readonly Claim[]; answer(verdicts: readonly Verdict[]): void };

function scene() {
  const clock = new VirtualClock();
  const statements: Statement[] = [];
  const log = {
    verify: (claims: readonly Claim[]) =>
      new Promise((resolve) => {
        const answer = (verdicts: readonly Verdict[]) =>
          resolve({ session: 3 as SessionId, verdicts });
        statements.push({ claims, answer });
      }),
  } as unknown as ShardLog;
  return { clock, statements, barrier: new ReadBarrier(log, clock, 5_000) };
}

function owner(shard: number) {
  const seen: unknown[] = [];
  const provable: Provable = {
    claim: () => ({ shard: shard as ShardId, range: 1 as RangeId, committed: 4 as Seq }),
    disproved: (verdict) => {
      seen.push(verdict.kind);
      return new AtollError('unavailable', `shard ${shard} is ${verdict.kind}`);
    },
    verified: (session) => seen.push(session),
  };
  return { provable, seen };
}

const MINE: Verdict = { kind: 'mine' };

test('askers of all shards share a statement; who comes while it runs waits for the next', async () => {
  const { barrier, statements } = scene();
  const [a, b] = [owner(0), owner(1)];
  const first = Promise.all([a, b, a].map((each) => barrier.prove(each.provable)));
  await settlePromises();
  const late = barrier.prove(a.provable);
  expect(statements.map(({ claims }) => claims.length)).toEqual([2]);
  statements[0]?.answer([MINE, MINE]);
  expect(await outcomeOf(first)).toBe('done');
  expect(await outcomeOf(late)).toBe('waits');
  statements[1]?.answer([MINE]);
  expect(await outcomeOf(late)).toBe('done');
  expect(a.seen).toEqual([3, 3]);
});

test('a lost shard and a hole are told to their owner, the others are proven', async () => {
  const { barrier, statements } = scene();
  const [a, b, c] = [owner(0), owner(1), owner(2)];
  const proofs = [a, b, c].map((each) => barrier.prove(each.provable));
  const outcomes = Promise.all(proofs.map(outcomeOf));
  await settlePromises();
  statements[0]?.answer([{ kind: 'lost', to: 2 as RangeId }, { kind: 'hole' }, MINE]);
  await settlePromises();
  expect(await Promise.all(proofs.map(outcomeOf))).toEqual([
    'shard 0 is lost',
    'shard 1 is hole',
    'done',
  ]);
  expect([a.seen, b.seen, c.seen]).toEqual([['lost'], ['hole'], [3]]);
  await outcomes;
});

test('a store that does not answer proves nothing and disproves nothing', async () => {
  const { barrier, clock } = scene();
  const a = owner(0);
  const proof = barrier.prove(a.provable);
  const outcome = outcomeOf(proof);
  await clock.advanceSettled(5_000);
  await outcome;
  expect(await outcomeOf(proof)).toContain('did not confirm');
  expect(a.seen).toEqual([]);
});

test('a verdict that is missing is no verdict', async () => {
  const { barrier, statements } = scene();
  const a = owner(0);
  const proof = barrier.prove(a.provable);
  const outcome = outcomeOf(proof);
  await outcome;
  statements[0]?.answer([]);
  expect(await outcomeOf(proof)).toContain('did not confirm');
  expect(a.seen).toEqual([]);
});
