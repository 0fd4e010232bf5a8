/**
 * The shop's worker as a process of its own:
 * `npx tsx examples/order-fulfilment/worker-main.ts --address 127.0.0.1:7233 --ledger http://127.0.0.1:7600`.
 */
import { parseArgs } from 'node:util';
import { bundleWorkflows, createWorker } from './worker.ts';

const { values } = parseArgs({
  options: {
    address: { type: 'string', default: '127.0.0.1:7233' },
    namespace: { type: 'string', default: 'default' },
    ledger: { type: 'string', default: 'http://127.0.0.1:7600' },
  },
});

const { address, namespace, ledger: ledgerUrl } = values;
const { worker, close } = await createWorker(
  { address, namespace, ledgerUrl },
  await bundleWorkflows(),
);
for (const stop of ['SIGINT', 'SIGTERM'] as const) {
  process.once(stop, () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  });
}
process.stdout.write(`${JSON.stringify({ msg: 'ready', address, namespace })}\n`);
await worker.run();
await close();
