/** A process that owns shard 0 and checkpoints without end: stopped-owner.sql.test.ts stops it in the middle. */
import { systemClock } from '../../../../kernel/clock.ts';
import { silentLog } from '../../../../kernel/log.ts';
import { bytes, checkpointOf, never, runKey, seq, shard } from '../../conformance/samples.ts';
import { openSqlStore } from '../sql-store.ts';

const RUNS = 2_000;
const STATE = Buffer.alloc(2_000, 'state');

const url = process.argv[2] ?? '';
const store = await openSqlStore({ url, clock: systemClock, log: silentLog });
const range = await store.log.claim(shard(0), never);
for (let at = 0; ; at += 1) {
  const views = {
    runs: Array.from({ length: RUNS }, (_, index) => ({
      ...runKey(`w${at}-${index}`),
      seq: seq(at + 1),
      open: true,
      state: index % 2 === 0 ? STATE : bytes('small'),
    })),
  };
  const written = store.log.checkpoint([checkpointOf([0, range, at, at + 1], { views })], never);
  process.stdout.write(`sent ${at + 1}\n`);
  const moved = await written;
  if (moved.length === 0) break;
}
process.stdout.write('fenced\n');
await new Promise(() => setInterval(() => {}, 1_000));
