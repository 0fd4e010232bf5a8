/** `atoll admin`, which also ends when the harness does. */
import { parseArgs } from 'node:util';
import { runAdmin } from '../../bin/admin.ts';
import { runRole } from '../../bin/run-role.ts';
import { endWithHarness } from './main-parts.ts';

const { values } = parseArgs({ options: { fleet: { type: 'string', default: '' } } });

endWithHarness();
await runRole({ level: 'info', format: 'json' }, (ports) =>
  runAdmin({ host: '127.0.0.1', port: 0, fleet: values.fleet }, ports),
);
