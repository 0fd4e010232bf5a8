/**
 * The whole example in one command: engine, ledger, worker, driver, and the reconciled ledger at the end.
 *
 *   npx tsx examples/order-fulfilment/demo.ts [--orders 1000] [--ship-within 10s] [--address host:port] [--engine "command"]
 *
 * Place: without `--address` it starts `atoll dev` on a free port with a throwaway data folder, and stops it at the end.
 *
 * Invariants
 *  1. Exit code 0 only if the ledger reconciles and the engine stopped cleanly.
 *  2. Whatever happens, Ctrl-C included, no process of its own is left behind.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { durationMs } from './duration.ts';
import { startEngine, type Engine } from './engine-process.ts';
import { startLedger } from './ledger/server.ts';
import { readOrders } from './read-orders.ts';
import { runDriver } from './run-driver.ts';
import { makeThrowawayFolder, removeThrowawayFolder } from './throwaway-folder.ts';
import { bundleWorkflows, createWorker } from './worker.ts';

const ATOLL = new URL('../../dist/bin/atoll.js', import.meta.url).pathname;

const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '1000' },
    'ship-within': { type: 'string', default: '10s' },
    namespace: { type: 'string', default: 'default' },
    address: { type: 'string' },
    engine: {
      type: 'string',
      default: `${process.execPath} ${ATOLL} dev --port 0 --log-format json`,
    },
  },
});

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort());

/** Runs the orders against an engine that is there. True if they reconcile. */
async function runOrders(
  address: string,
  folder: string,
  bundle: ReturnType<typeof bundleWorkflows>,
): Promise<boolean> {
  const count = Number(values.orders);
  const orders = await readOrders(undefined, count);
  const ledger = await startLedger({ orders, journalPath: join(folder, 'ledger.jsonl'), port: 0 });
  const { namespace } = values;
  try {
    const { worker, close } = await createWorker(
      { address, namespace, ledgerUrl: ledger.url },
      await bundle,
    );
    const working = worker.run();
    say(`ledger ${ledger.url}, worker on ${address}, ${orders.length} orders`);
    try {
      return await runDriver({
        address,
        namespace,
        ledgerUrl: ledger.url,
        orders: count,
        shipWithinMs: durationMs(values['ship-within']),
        logDir: folder,
        signal: stop.signal,
      });
    } finally {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await working;
      await close();
    }
  } finally {
    await ledger.close();
  }
}

async function demo(): Promise<boolean> {
  const folder = await makeThrowawayFolder('atoll-demo-');
  let engine: Engine | undefined;
  let keep = true;
  // While the engine starts.
  const bundle = bundleWorkflows();
  bundle.catch(() => {});
  try {
    if (!values.address) {
      say('starting the engine');
      engine = await startEngine(`${values.engine} --data ${join(folder, 'data')}`, stop.signal);
    }
    const reconciled = await runOrders(values.address ?? engine?.address ?? '', folder, bundle);
    keep = !reconciled;
    const stopped = (await engine?.stop()) ?? 0;
    if (stopped !== 0) say(`the engine ended with code ${stopped}`);
    return reconciled && stopped === 0;
  } finally {
    await engine?.stop();
    if (keep && !stop.signal.aborted) say(`journals and data are kept in ${folder}`);
    else await removeThrowawayFolder(folder);
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

demo().then(
  (fine) => process.exit(fine ? 0 : 1),
  (error: unknown) => {
    say(
      stop.signal.aborted
        ? 'stopped'
        : `failed: ${error instanceof Error ? error.stack : String(error)}`,
    );
    process.exit(stop.signal.aborted ? 130 : 1);
  },
);
