/**
 * One phase of torture: the order example runs on an engine while its processes are killed, then the judge speaks.
 *
 * Place: torture.ts runs it twice, on two topologies. Ledger, worker and driver are the example's own mains.
 *
 * Invariants
 *  1. Kills happen while orders are on their way: each round brings its share of new ones, and the next waits until the
 *     orders made some progress, or a bounded pause has passed.
 *  2. The phase passes if the driver reconciled and the judge has no finding.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep, systemClock } from '../../kernel/clock.ts';
import { judge, type ClientLine, type JudgedOrder, type LedgerLine } from './check.ts';
import { LiveProcess } from './live-process.ts';
import { readEnds } from './read-end.ts';
import type { Round } from './rounds.ts';
import type { Tally } from './tally.ts';
import type { Victim } from './victim.ts';

const EXAMPLE = new URL('../../examples/order-fulfilment/', import.meta.url).pathname;
const PROGRESS_BYTES = 3_000;
/** A worker that met a dead engine pauses for up to 10 s before it asks again. */
const LONGEST_PAUSE_MS = 15_000;
const LOOK_MS = 50;

export type Topology = {
  /** The router, as host:port. */
  readonly address: string;
  readonly namespace: string;
  readonly victim: Victim;
};

export type PhaseOptions = {
  readonly topology: Topology;
  readonly rounds: readonly Round[];
  readonly tally: Tally;
  readonly orders: number;
  readonly shipWithin: string;
  /** Folder of logs and journals. */
  readonly folder: string;
  readonly say: (text: string) => void;
};

/** Runs the phase; resolves with what is wrong, best nothing. */
export async function runPhase(options: PhaseOptions): Promise<readonly string[]> {
  const { topology, folder, say } = options;
  const at = ['--address', topology.address, '--namespace', topology.namespace];
  const ledger = example(
    'ledger/main',
    ['--port', '0', '--journal', join(folder, 'ledger.jsonl')],
    folder,
  );
  const url = String((await ledger.ready())['url']);
  const worker = example('worker-main', [...at, '--ledger', url], folder);
  await worker.ready();
  const pace = ['--orders', `${options.orders}`, '--pace-from-stdin'];
  const driver = example(
    'driver-main',
    [...at, '--ledger', url, ...pace, '--ship-within', options.shipWithin, '--log-dir', folder],
    folder,
  );
  await torment(options, driver);
  say('kills are done; waiting for the orders');
  const { code } = await driver.exited;
  const findings = code === 0 ? [] : [`the driver ended with ${code}: see driver-main.log`];
  findings.push(...(await judged(options)));
  if (!worker.running) findings.push('the worker ended by itself: see worker-main.log');
  await worker.stop();
  await ledger.stop();
  return findings;
}

function example(main: string, args: readonly string[], folder: string): LiveProcess {
  const name = main.replaceAll('/', '-');
  const logFile = join(folder, `${name}.log`);
  return new LiveProcess(name, [join(EXAMPLE, `${main}.ts`), ...args], { logFile });
}

async function torment(options: PhaseOptions, driver: LiveProcess): Promise<void> {
  const { rounds, topology, tally, say } = options;
  const began = systemClock.monotonicMs();
  for (const [index, round] of rounds.entries()) {
    driver.tell(`${Math.ceil((options.orders * (index + 1)) / rounds.length)}\n`);
    await progress(join(options.folder, 'ledger.jsonl'));
    if (!driver.running) return say('the driver ended before the kills');
    await topology.victim.suffer(round);
    if (index % 5 !== 4) continue;
    const seconds = ((systemClock.monotonicMs() - began) / 1_000).toFixed(0);
    say(`${seconds.padStart(4)} s  round ${index + 1}/${rounds.length}  kills ${tally.total}`);
  }
}

/** Waits until the ledger has grown, or for a bounded time. */
async function progress(journal: string): Promise<void> {
  const size = () =>
    stat(journal).then(
      (found) => found.size,
      () => 0,
    );
  const before = await size();
  for (let waited = 0; waited < LONGEST_PAUSE_MS; waited += LOOK_MS) {
    if ((await size()) - before >= PROGRESS_BYTES) return;
    await sleep(systemClock, LOOK_MS);
  }
}

async function judged({ topology, folder, orders, say }: PhaseOptions): Promise<readonly string[]> {
  const all = JSON.parse(await readFile(join(EXAMPLE, 'orders.json'), 'utf8')) as JudgedOrder[];
  const client = await readLines<ClientLine>(join(folder, 'client.jsonl'));
  const ledger = await readLines<LedgerLine>(join(folder, 'ledger.jsonl'));
  const runs = await readEnds(topology.address, topology.namespace, client);
  const { judged: counts, findings } = judge({
    orders: all.slice(0, orders),
    client,
    ledger,
    runs,
  });
  const parts = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  say(`judged ${parts.join(', ')}: ${findings.length} findings`);
  return findings;
}

async function readLines<Line>(path: string): Promise<readonly Line[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Line);
}
