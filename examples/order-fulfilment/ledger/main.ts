/** The ledger as a process of its own: `npx tsx examples/order-fulfilment/ledger/main.ts --port 7600 --journal ledger.jsonl`. */
import { parseArgs } from 'node:util';
import { readOrders } from '../read-orders.ts';
import { startLedger } from './server.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '7600' },
    journal: { type: 'string', default: 'ledger.jsonl' },
    orders: { type: 'string' },
  },
});

const ledger = await startLedger({
  orders: await readOrders(values.orders),
  journalPath: values.journal,
  port: Number(values.port),
});
process.stdout.write(`${JSON.stringify({ msg: 'ready', url: ledger.url })}\n`);

for (const stop of ['SIGINT', 'SIGTERM'] as const) {
  process.once(stop, () => void ledger.close().then(() => process.exit(0)));
}
