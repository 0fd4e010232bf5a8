/** `atoll cell` with a step fault round its log: the same parts of bin/, composed by the harness. */
import { parseArgs } from 'node:util';
import { runCell } from '../../bin/cell.ts';
import { runRole } from '../../bin/run-role.ts';
import { endWithHarness, faultFromHarness } from './main-parts.ts';

const { values } = parseArgs({
  options: {
    'cell-id': { type: 'string', default: 'a' },
    'postgres-url': { type: 'string', default: '' },
    fleet: { type: 'string', default: '' },
    'lane-items-per-second': { type: 'string', default: '10000' },
    arm: { type: 'string' },
  },
});

const SHARDS = 4;

const fault = faultFromHarness(values.arm);
endWithHarness();
await runRole({ level: 'info', format: 'json' }, (ports) =>
  runCell(
    {
      cellId: values['cell-id'],
      region: `region-${values['cell-id']}`,
      host: '127.0.0.1',
      port: 0,
      shards: SHARDS,
      postgresUrl: values['postgres-url'],
      fleet: values.fleet,
      laneItemsPerSecond: Number(values['lane-items-per-second']),
    },
    { ...ports, wrapLog: (log) => fault.wrap(log) },
  ),
);
