/** A process that races others for the fleet map: registers `count` namespaces and prints the revision of each. */
import { systemClock } from '../../../kernel/clock.ts';
import { silentLog } from '../../../kernel/log.ts';
import { systemRng } from '../../../kernel/rng.ts';
import { registration } from '../../conformance/sample.ts';
import { registerNamespace } from '../../table.ts';
import { updateMap } from '../../update.ts';
import { FileFleetMap } from '../fleet-map.ts';

const [directory = '', prefix = '', count = '0'] = process.argv.slice(2);
const store = await FileFleetMap.open(directory, {
  clock: systemClock,
  rng: systemRng,
  log: silentLog,
});
for (let i = 0; i < Number(count); i++) {
  const name = `${prefix}-${i}`;
  const map = await updateMap(
    store,
    (current) => registerNamespace(current, registration(name)),
    new AbortController().signal,
  );
  process.stdout.write(`${map.revision} ${name}\n`);
}
