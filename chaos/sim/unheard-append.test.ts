import { expect, test } from 'vitest';
import { noFaults, type StoreStatement } from '../../cell/storage/memory/store-faults.ts';
import type { LogRow, RangeId, Seq, ShardId } from '../../cell/storage/shard-log.ts';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { drawWeather, Faults } from './faults.ts';
import { FAULTS, Tally } from './tally.ts';
import { Trace } from './trace.ts';
import { UnheardAppend } from './unheard-append.ts';
import { WorldTime } from './world-time.ts';

const APPENDS = 2_000;

/** What becomes of many appends of one row each. */
function appends({ active, takeover }: { readonly active: boolean; readonly takeover: boolean }) {
  const tally = new Tally(FAULTS);
  const weather = drawWeather(new SeededRng(1));
  const trace = new Trace(new WorldTime());
  const faults = new Faults({ rng: new SeededRng(1), weather, tally, trace });
  faults.active = active;
  const rivals: ShardId[] = [];
  const unheard = new UnheardAppend({
    inner: noFaults,
    faults,
    rng: new SeededRng(2),
    onUnheard: (shard) => void rivals.push(shard),
  });
  const row: LogRow = {
    shard: 1 as ShardId,
    seq: 5 as Seq,
    range: 2 as RangeId,
    nonce: new Uint8Array(16),
    takeover,
    record: new Uint8Array(),
  };
  const statement: StoreStatement = { kind: 'append', shards: [row.shard], rows: [row] };
  const fates = Array.from({ length: APPENDS }, () => unheard.fateOf(statement));
  const lost = fates.filter(({ kind }) => kind !== 'ok');
  return { lost, rivals, counted: tally.counts.get('append unheard, then taken over') };
}

test('some appends land at once and are never answered, and a rival is called each time', () => {
  const { lost, rivals, counted } = appends({ active: true, takeover: false });
  expect(lost.length).toBeGreaterThan(APPENDS / 200);
  expect(lost.length).toBeLessThan(APPENDS / 20);
  expect(lost.every((fate) => fate.kind === 'lost-reply' && !fate.landMs && !fate.failMs)).toBe(
    true,
  );
  expect(rivals).toEqual(lost.map(() => 1));
  expect(counted).toBe(lost.length);
});

test.each([
  ['faults have ended', { active: false, takeover: false }],
  ['the row is a takeover', { active: true, takeover: true }],
])('every append is heard when %s', (_, how) => {
  expect(appends(how)).toMatchObject({ lost: [], rivals: [], counted: 0 });
});
