/**
 * The driver as a process of its own:
 * `npx tsx examples/order-fulfilment/driver-main.ts --address 127.0.0.1:7233 --ledger http://127.0.0.1:7600 --orders 1000`.
 * Ends with the reconciled ledger; exit code 0 only if it reconciles.
 */
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { durationMs } from './duration.ts';
import { asTold, atOnce, evenly, type Pace } from './pace.ts';
import { runDriver } from './run-driver.ts';

const { values } = parseArgs({
  options: {
    address: { type: 'string', default: '127.0.0.1:7233' },
    namespace: { type: 'string', default: 'default' },
    ledger: { type: 'string', default: 'http://127.0.0.1:7600' },
    orders: { type: 'string', default: '1000' },
    'ship-within': { type: 'string', default: '15s' },
    'per-second': { type: 'string' },
    'pace-from-stdin': { type: 'boolean', default: false },
    'log-dir': { type: 'string' },
  },
});

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());

const { reconciled } = await runDriver({
  address: values.address,
  namespace: values.namespace,
  ledgerUrl: values.ledger,
  orders: Number(values.orders),
  shipWithinMs: durationMs(values['ship-within']),
  signal: stop.signal,
  pace: paceOf(values),
  ...(values['log-dir'] ? { logDir: values['log-dir'] } : {}),
});

/** Each line of stdin is the number of orders that may have been started by now. */
function paceOf(asked: { 'per-second'?: string | undefined; 'pace-from-stdin': boolean }): Pace {
  if (asked['pace-from-stdin']) return asTold(createInterface({ input: process.stdin }));
  return asked['per-second'] ? evenly(Number(asked['per-second'])) : atOnce;
}

process.exit(reconciled ? 0 : 1);
