/**
 * PostgreSQL as a process of its own: `--data folder`. Its ready line has a URL. The harness kills its
 * postmaster; this process starts it again, on the same port.
 *
 * Place: under the cells of a torture run, where a served PostgreSQL would be.
 */
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../cell/storage/sql/embedded.ts';
import { systemClock } from '../../kernel/clock.ts';
import { silentLog } from '../../kernel/log.ts';
import { systemRng } from '../../kernel/rng.ts';
import { endWithHarness, tellReady } from './main-parts.ts';

const { values } = parseArgs({ options: { data: { type: 'string', default: '.atoll/torture' } } });

const postgres = await startEmbeddedPostgres({
  dataDir: values.data,
  log: silentLog,
  clock: systemClock,
  rng: systemRng,
});
postgres.onExit((cause) => {
  process.stderr.write(`${cause.stack}\n`);
  process.exit(1);
});
endWithHarness();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => void postgres.stop().then(() => process.exit(0)));
}
tellReady({ url: postgres.url('postgres') });
