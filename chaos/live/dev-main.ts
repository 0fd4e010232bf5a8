/** `atoll dev` with a step fault round the logs of both its cells: the same parts of bin/, composed by the harness. */
import { parseArgs } from 'node:util';
import { startDev } from '../../bin/dev.ts';
import { runRole } from '../../bin/run-role.ts';
import { endWithHarness, faultFromHarness } from './main-parts.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    data: { type: 'string', default: '' },
    arm: { type: 'string' },
  },
});

const fault = faultFromHarness(values.arm);
endWithHarness();
await runRole({ level: 'info', format: 'json' }, (ports) =>
  startDev(
    {
      host: '127.0.0.1',
      port: Number(values.port),
      data: values.data,
      namespaces: ['default'],
    },
    { ...ports, wrapLog: (log) => fault.wrap(log) },
  ),
);
