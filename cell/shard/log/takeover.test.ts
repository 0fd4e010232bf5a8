import { expect, test } from 'vitest';
import { AtollError } from '../../../kernel/errors.ts';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import { MemoryDatabase } from '../../storage/memory/memory-database.ts';
import { MemoryStore } from '../../storage/memory/memory-store.ts';
import type { StatementFate, StoreStatement } from '../../storage/memory/store-faults.ts';
import type { LogRow, RangeId, Seq, ShardId } from '../../storage/shard-log.ts';
import { takeOver, type Takeover } from './takeover.ts';

type Fate = (statement: StoreStatement, n: number) => StatementFate | undefined;

class Scene {
  readonly clock = new VirtualClock();
  readonly database = new MemoryDatabase({ clock: this.clock, shardCount: 1 });
  readonly statements: string[] = [];

  take(fate: Fate = () => undefined): Promise<Takeover> {
    const { clock } = this;
    const rng = new SeededRng(1).fork(String(this.statements.length));
    const fateOf = (statement: StoreStatement) => {
      this.statements.push(statement.kind);
      return fate(statement, this.statements.length) ?? ({ kind: 'ok' } as const);
    };
    const log = new MemoryStore(this.database, { clock, rng, faults: { fateOf } });
    return takeOver({ log, clock, rng, shard: 0 as ShardId, statementDeadlineMs: 5_000 });
  }

  /** A row of somebody else, as it lands late. */
  land(seq: number, range: number): void {
    const row = { shard: 0, seq, range, nonce: new Uint8Array([seq]), takeover: false };
    this.database.insert({ ...row, record: new Uint8Array([1]) } as unknown as LogRow);
  }
}

/** How a takeover that does not end in a shard ends. Listens at once, so that nothing counts as unhandled. */
function endOf(taking: Promise<Takeover>): Promise<string> {
  return taking.then(
    ({ kind }) => kind,
    (error: unknown) => (error instanceof AtollError ? `${error.code}: ${error.message}` : 'other'),
  );
}

const taken = (seq: number, range: number) => ({
  kind: 'taken',
  taken: { seq: seq as Seq, range: range as RangeId },
});

test('the range is claimed first, then the fence is set at the end of the log', async () => {
  const scene = new Scene();
  expect(await scene.take()).toMatchObject(taken(1, 1));
  scene.land(2, 1);
  expect(await scene.take()).toMatchObject(taken(3, 2));
  expect(scene.statements.slice(-5)).toEqual(['claim', 'verify', 'position', 'append', 'tail']);
});

test('a row that lands in the place of the fence moves the fence behind it', async () => {
  const scene = new Scene();
  await scene.take();
  const takeover = await scene.take(({ kind }) => {
    if (kind === 'append') scene.land(2, 1); // After the end was read.
    return undefined;
  });
  expect(takeover).toMatchObject(taken(3, 2));
});

test('a fence whose outcome is unknown is settled with the identical row', async () => {
  const scene = new Scene();
  let lost = 3;
  const taking = scene.take(({ kind }) =>
    kind === 'append' && (lost -= 1) >= 0 ? { kind: 'lost-reply', failMs: 5 } : undefined,
  );
  await scene.clock.advanceSettled(5_000);
  expect(await taking).toMatchObject(taken(1, 1));
  expect(scene.database.dump().log).toHaveLength(1);
});

test.each(['position', 'tail'])('another range at the %s read means lost', async (at) => {
  const scene = new Scene();
  let second: Promise<Takeover> | undefined;
  const first = scene.take(({ kind }) => {
    if (kind === at) second ??= scene.take();
    return kind === at ? { kind: 'ok', landMs: 10 } : undefined;
  });
  await scene.clock.advanceSettled(100);
  expect(await first).toEqual({ kind: 'lost', to: 2 });
  expect(await second).toMatchObject({ kind: 'taken' });
});

test.each(['verify', 'position', 'append'])(
  'a claim that a promoted standby lacks, seen at the %s, begins the takeover again and leaves no row',
  async (at) => {
    const scene = new Scene();
    await scene.take();
    const taking = scene.take(({ kind }) => {
      if (kind !== at) return undefined;
      scene.database.promoteStandby(1); // The claim was the newest statement.
      return { kind: 'lost', failMs: 1 };
    });
    const ended = endOf(taking);
    await scene.clock.advanceSettled(10_000);
    expect(await ended).toMatch(/^unavailable: /);
    expect(scene.database.dump().log).toHaveLength(1);
  },
);

test('a fence never goes to a primary that lacks the claim which was seen on the one before', async () => {
  const scene = new Scene();
  await scene.take();
  const taking = scene.take(({ kind }) => {
    if (kind !== 'position' || scene.database.life > 1) return undefined;
    scene.clock.after(5, () => scene.database.promoteStandby(1));
    return { kind: 'ok', answerMs: 10 };
  });
  const ended = endOf(taking);
  await scene.clock.advanceSettled(10_000);
  expect(await ended).toBe(
    'unavailable: the claim of shard 0 is gone: a standby was promoted that lacked it',
  );
  expect(scene.statements.slice(-4)).toEqual(['verify', 'position', 'verify', 'position']);
  expect(scene.database.dump().log).toHaveLength(1);
});

test('a fence that a promoted standby lacks begins the takeover again', async () => {
  const scene = new Scene();
  await scene.take();
  const taking = scene.take(({ kind }) => {
    if (kind !== 'append') return undefined;
    scene.clock.after(5, () => scene.database.promoteStandby(1));
    return { kind: 'ok', answerMs: 10 };
  });
  const ended = endOf(taking);
  await scene.clock.advanceSettled(100);
  expect(await ended).toBe(
    'unavailable: the takeover row of shard 0 is gone: a standby was promoted that lacked it',
  );
  expect(await scene.take()).toMatchObject(taken(2, 3));
});

test('a hole in the tail stops the shard', async () => {
  const scene = new Scene();
  await scene.take();
  scene.land(3, 1);
  await expect(scene.take()).rejects.toThrow('a hole in the log');
});
