/**
 * The whole example in one command: engine, ledger, worker, driver, a move of the namespace to the other region halfway
 * through, and the reconciled ledger at the end.
 *
 *   npx tsx examples/order-fulfilment/demo.ts [--orders 1000] [--ship-within 10s] [--no-move]
 *     [--address host:port [--admin host:port]] [--engine "atoll dev …"]
 *
 * Place: without `--address` it starts `atoll dev` on a free port with a throwaway data folder, and stops it at the end.
 *
 * Invariants
 *  1. Exit code 0 only if the ledger reconciles, the namespace moved without a failed call, and the engine stopped cleanly.
 *  2. Whatever happens, Ctrl-C included, no process of its own is left behind.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { durationMs } from './duration.ts';
import { startEngine, type Addresses, type Engine } from './engine-process.ts';
import { startLedger } from './ledger/server.ts';
import { createReplicated, moveNamespace, type Moved, type Operator } from './move-namespace.ts';
import { readOrders } from './read-orders.ts';
import { runDriver } from './run-driver.ts';
import { makeThrowawayFolder, removeThrowawayFolder } from './throwaway-folder.ts';
import { bundleWorkflows, createWorker } from './worker.ts';

const ATOLL = new URL('../../dist/bin/atoll.js', import.meta.url).pathname;

/** The cells of `atoll dev`, each in a region of its own. */
const ACTIVE = 'a';
const REPLICA = 'b';

const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '1000' },
    'ship-within': { type: 'string', default: '10s' },
    namespace: { type: 'string' },
    address: { type: 'string' },
    admin: { type: 'string' },
    'no-move': { type: 'boolean', default: false },
    engine: {
      type: 'string',
      default: `${process.execPath} ${ATOLL} dev --port 0 --log-format json`,
    },
  },
});

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort());

type Running = {
  readonly address: string;
  readonly namespace: string;
  /** Who moves the namespace; undefined: it stays where it is. */
  readonly operator?: Operator | undefined;
};

/** Runs the orders against an engine that is there. True if they reconcile and the move, if any, failed nothing. */
async function runOrders(
  engine: Running,
  folder: string,
  bundle: ReturnType<typeof bundleWorkflows>,
): Promise<boolean> {
  const { address, namespace, operator } = engine;
  const count = Number(values.orders);
  const orders = await readOrders(undefined, count);
  const ledger = await startLedger({ orders, journalPath: join(folder, 'ledger.jsonl'), port: 0 });
  let moving: Promise<Moved> | undefined;
  try {
    const { worker, close } = await createWorker(
      { address, namespace, ledgerUrl: ledger.url },
      await bundle,
    );
    const working = worker.run();
    say(`ledger ${ledger.url}, worker on ${address}, ${orders.length} orders`);
    try {
      const { reconciled, calls } = await runDriver({
        address,
        namespace,
        ledgerUrl: ledger.url,
        orders: count,
        shipWithinMs: durationMs(values['ship-within']),
        logDir: folder,
        onHalfway: () => (moving = operator && move(operator, namespace)),
        signal: stop.signal,
      });
      const moved = await moving;
      const held = moved ? `The move held calls for ${moved.pauseMs} ms at most; ` : '';
      say(`${held}${calls.failed} of ${calls.made} calls failed.`);
      return reconciled && (moved === undefined || calls.failed === 0);
    } finally {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await working;
      await close();
    }
  } finally {
    await ledger.close();
  }
}

/** Begins to move the namespace while the orders run. */
function move(operator: Operator, namespace: string): Promise<Moved> {
  say(`\nmoving namespace ${namespace} to the other region, while the orders run`);
  const moving = moveNamespace(operator, { namespace, to: REPLICA });
  moving.then(sayMoved, () => {});
  return moving;
}

/** Where the orders go: in an engine of the demo's own a namespace with a replica, if it is to be moved. */
async function prepare({ address, admin }: Addresses, isOwn: boolean): Promise<Running> {
  const { namespace = 'default', engine } = values;
  const [atoll = ''] = engine.split(' dev');
  if (values['no-move'] || admin === undefined) return { address, namespace };
  const operator = { atoll, admin, signal: stop.signal };
  if (!isOwn || values.namespace !== undefined) return { address, namespace, operator };
  await createReplicated(operator, { namespace: 'orders', active: ACTIVE, replica: REPLICA });
  return { address, namespace: 'orders', operator };
}

function sayMoved({ from, to, pauseMs, tookMs }: Moved): void {
  const took = (tookMs / 1_000).toFixed(1);
  say(`\nmoved from cell ${from} to cell ${to} in ${took} s: calls were held for ${pauseMs} ms`);
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
    const given = { address: values.address ?? '', admin: values.admin };
    const running = await prepare(engine ?? given, engine !== undefined);
    const reconciled = await runOrders(running, folder, bundle);
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
