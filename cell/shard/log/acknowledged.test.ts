import { expect, test } from 'vitest';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import { MemoryDatabase } from '../../storage/memory/memory-database.ts';
import { MemoryStore } from '../../storage/memory/memory-store.ts';
import type { RangeId, Seq, ShardId } from '../../storage/shard-log.ts';
import { lookBack } from './acknowledged.ts';

const SHARD = 0 as ShardId;

/** Range 5 was acknowledged the rows from 3 on, and range 9 took over behind; rows are `seq:range`. */
async function verdictOf(rows: readonly string[], to = 6): Promise<string> {
  const clock = new VirtualClock();
  const database = new MemoryDatabase({ clock, shardCount: 1 });
  for (const text of rows) {
    const [seq = 0, range = 0] = text.split(':').map(Number);
    const key = { shard: SHARD, seq: seq as Seq, range: range as RangeId };
    const bytes = new Uint8Array([1]);
    database.insert({ ...key, nonce: bytes, takeover: false, record: bytes });
  }
  const log = new MemoryStore(database, { clock, rng: new SeededRng(1) });
  const acknowledged = { shard: SHARD, range: 5 as RangeId, from: 3 as Seq, to: to as Seq };
  const options = { log, clock, statementDeadlineMs: 1_000, range: 9 as RangeId };
  const verdict = await lookBack(acknowledged, options);
  return verdict.kind === 'lost' ? `lost to ${verdict.to}` : verdict.kind;
}

test.each([
  ['all of it is there', '2:4 3:5 4:5 5:5 6:5 7:9', 'mine'],
  ['the row that was unheard landed', '3:5 4:5 5:5 6:5 7:5 8:9', 'mine'],
  ['a checkpoint cut off what followed its takeover row', '3:5 7:9', 'mine'],
  ['somebody owned it in between, behind what was acknowledged', '3:5 7:7 8:9', 'mine'],
  ['the log ended below, and nobody came', '3:5 4:5 5:9', 'hole'],
  ['its own takeover row is gone too', '2:4 3:9', 'hole'],
  ['the log ended below its takeover row', '1:4 2:9', 'hole'],
  ['a predecessor wrote on in its place', '2:4 3:4 4:4 5:4 6:4 7:9', 'hole'],
  ['a successor took over below and grew past', '3:5 4:5 5:7 6:7 7:7 8:9', 'lost to 7'],
  ['a successor cut the place off', '3:5 5:7 8:9', 'lost to 7'],
  ['a successor below its takeover row cut all off', '2:7 8:9', 'hole'],
])('of what was acknowledged, where %s', async (_, rows, verdict) => {
  expect(await verdictOf(rows.split(' '))).toBe(verdict);
});

test('rows beyond the first page are looked at', async () => {
  const rows = Array.from({ length: 300 }, (_, i) => `${i + 3}:${i < 290 ? 5 : 7}`);
  expect(await verdictOf(rows, 280)).toBe('mine');
  expect(await verdictOf(rows, 299)).toBe('lost to 7');
});
