/**
 * The two ways in which a torture run lays out an engine: as processes of their own, and as `atoll dev`.
 *
 * Invariants
 *  1. A restarted process has the same data and the same place in the fleet as the one that was killed.
 */
import { mkdir } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { CachedFleetMap } from '../../fleet/cached-map.ts';
import { FileFleetMap } from '../../fleet/file/fleet-map.ts';
import { registerNamespace } from '../../fleet/table.ts';
import { systemClock } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { silentLog } from '../../kernel/log.ts';
import { systemRng } from '../../kernel/rng.ts';
import { Database } from './database.ts';
import { LiveProcess } from './live-process.ts';
import type { Topology } from './phase.ts';
import type { Step } from './step.ts';
import type { Tally } from './tally.ts';
import { Victim } from './victim.ts';

const RUN_DATABASES = ['postgres-main', 'dev-main'];
const REGISTER_MS = 10_000;
const DAY_MS = 24 * 3_600_000;

export type LayOut = {
  /** Folder of the compiled mains (compile.ts). */
  readonly mains: string;
  readonly folder: string;
  readonly tally: Tally;
  readonly say: (text: string) => void;
};

/** What was laid out, and how it is taken away again. */
export type LaidOut = {
  readonly topologies: readonly Topology[];
  readonly stop: () => Promise<void>;
};

/** A router, two cells and PostgreSQL, each a process of its own; a namespace is active in each cell. */
export async function layOutCells({ mains, folder, tally, say }: LayOut): Promise<LaidOut> {
  const main = starter(mains, folder);
  const fleet = join(folder, 'fleet');
  const postgres = main('postgres-main', ['--data', join(folder, 'postgres')]);
  const database = new Database(() => postgres.pid);
  const url = new URL(String((await postgres.ready())['url']));
  const cell = (id: string) => {
    url.pathname = `/atoll_cell_${id}`;
    const args = ['--cell-id', id, '--postgres-url', url.href, '--fleet', fleet];
    return new Victim({
      name: `cell ${id}`,
      start: (arm) => main('cell-main', withArm(args, arm), `cell-${id}`),
      killDatabase: () => database.kill(),
      databaseAway: () => database.isAway,
      tally,
      say,
    });
  };
  const cells = [cell('a'), cell('b')] as const;
  await Promise.all(cells.map((victim) => victim.ready()));
  await registerNamespaces(fleet, { 'shop-a': 'a', 'shop-b': 'b' });
  const router = main('router-main', ['--fleet', fleet]);
  const address = String((await router.ready())['address']);
  return {
    topologies: [
      { address, namespace: 'shop-a', victim: cells[0] },
      { address, namespace: 'shop-b', victim: cells[1] },
    ],
    async stop() {
      await router.stop();
      await Promise.all(cells.map((victim) => victim.stop()));
      await postgres.stop();
    },
  };
}

/** `atoll dev` in one process, which starts its PostgreSQL again by itself. */
export async function layOutDev({ mains, folder, tally, say }: LayOut): Promise<LaidOut> {
  const main = starter(mains, folder);
  const port = await freePort();
  const args = ['--port', `${port}`, '--data', join(folder, 'data')];
  const database = new Database(() => victim.pid);
  const victim: Victim = new Victim({
    name: 'atoll dev',
    start: (arm) => main('dev-main', withArm(args, arm)),
    killDatabase: () => database.kill(),
    databaseAway: () => database.isAway,
    tally,
    say,
  });
  const address = String((await victim.ready())['address']);
  return {
    topologies: [{ address, namespace: 'default', victim }],
    stop: () => victim.stop(),
  };
}

/** Starts the mains of this folder, each with a log file named after it. */
function starter(mains: string, folder: string) {
  return (file: string, args: readonly string[], name = file) =>
    new LiveProcess(name, [join(mains, `${file}.js`), ...args], {
      logFile: join(folder, `${name}.log`),
      runsDatabase: RUN_DATABASES.includes(file),
    });
}

function withArm(args: readonly string[], arm: Step | undefined): readonly string[] {
  return arm ? [...args, '--arm', arm] : args;
}

async function registerNamespaces(
  fleet: string,
  cells: Readonly<Record<string, string>>,
): Promise<void> {
  await mkdir(fleet, { recursive: true });
  const parts = { clock: systemClock, rng: systemRng, log: silentLog };
  const store = await FileFleetMap.open(fleet, parts);
  const map = await CachedFleetMap.open({ store, log: silentLog, clock: systemClock });
  for (const [name, cell] of Object.entries(cells)) {
    const registration = {
      id: systemRng.uuid(),
      name,
      description: 'a torture run',
      ownerEmail: '',
      data: {},
      retentionMs: DAY_MS,
      registeredAt: systemClock.now(),
      cell,
    };
    await withDeadline(
      systemClock,
      { what: `registering ${name}`, timeoutMs: REGISTER_MS },
      (signal) => map.update((known) => registerNamespace(known, registration), signal),
    );
  }
  await map.close();
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
