/** `atoll router`, which also ends when the harness does. */
import { parseArgs } from 'node:util';
import { runRole } from '../../bin/run-role.ts';
import { runRouter } from '../../bin/router.ts';
import { endWithHarness } from './main-parts.ts';

const { values } = parseArgs({ options: { fleet: { type: 'string', default: '' } } });

endWithHarness();
await runRole({ level: 'info', format: 'json' }, (ports) =>
  runRouter({ host: '127.0.0.1', port: 0, fleet: values.fleet }, ports),
);
