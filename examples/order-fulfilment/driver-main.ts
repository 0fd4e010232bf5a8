/**
 * The driver as a process of its own:
 * `npx tsx examples/order-fulfilment/driver-main.ts --address 127.0.0.1:7233 --ledger http://127.0.0.1:7600 --orders 1000`.
 * Ends with the reconciled ledger; exit code 0 only if it reconciles.
 */
import { parseArgs } from 'node:util';
import { durationMs } from './duration.ts';
import { runDriver } from './run-driver.ts';

const { values } = parseArgs({
  options: {
    address: { type: 'string', default: '127.0.0.1:7233' },
    namespace: { type: 'string', default: 'default' },
    ledger: { type: 'string', default: 'http://127.0.0.1:7600' },
    orders: { type: 'string', default: '1000' },
    'ship-within': { type: 'string', default: '15s' },
    'per-second': { type: 'string' },
    'log-dir': { type: 'string' },
  },
});

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());

const reconciled = await runDriver({
  address: values.address,
  namespace: values.namespace,
  ledgerUrl: values.ledger,
  orders: Number(values.orders),
  shipWithinMs: durationMs(values['ship-within']),
  signal: stop.signal,
  ...(values['per-second'] ? { perSecond: Number(values['per-second']) } : {}),
  ...(values['log-dir'] ? { logDir: values['log-dir'] } : {}),
});
process.exit(reconciled ? 0 : 1);
