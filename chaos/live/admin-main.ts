/** `atoll admin` with a fault round its orchestrator: the same parts of bin/, composed by the harness. */
import { parseArgs } from 'node:util';
import { runAdmin } from '../../bin/admin.ts';
import { runRole } from '../../bin/run-role.ts';
import { endWithHarness, moveFaultFromHarness } from './main-parts.ts';

const { values } = parseArgs({ options: { fleet: { type: 'string', default: '' } } });

const fault = moveFaultFromHarness();
endWithHarness();
await runRole({ level: 'info', format: 'json' }, (ports) =>
  runAdmin(
    { host: '127.0.0.1', port: 0, fleet: values.fleet },
    { ...ports, wrapMoves: (seen) => fault.wrap(seen) },
  ),
);
