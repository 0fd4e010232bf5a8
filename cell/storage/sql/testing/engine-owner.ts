/** A process that runs an embedded PostgreSQL on a folder until it is killed: embedded.sql.test.ts kills it. */
import { systemClock } from '../../../../kernel/clock.ts';
import { silentLog } from '../../../../kernel/log.ts';
import { systemRng } from '../../../../kernel/rng.ts';
import { startEmbeddedPostgres } from '../embedded.ts';

const server = await startEmbeddedPostgres({
  dataDir: process.argv[2] ?? '',
  log: silentLog,
  clock: systemClock,
  rng: systemRng,
});
process.stdout.write(`${server.url('postgres')} ${server.pid()}\n`);
await new Promise(() => setInterval(() => {}, 1_000));
