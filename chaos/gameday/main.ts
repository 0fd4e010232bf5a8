/**
 * `npm run gameday`: loses a cell on purpose and says what it cost; moves a namespace many times, or floods a lane, instead
 * (`--help`).
 *
 * Exit code 0: everything acknowledged is there or in the loss report, both cells converged, and the way back failed no
 * call. Whatever happens, Ctrl-C included, its processes end with it.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { activityInfo } from '@temporalio/activity';
import { Client, Connection } from '@temporalio/client';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
} from '@temporalio/worker';
import { countOf, readCommandLine } from '../command-line.ts';
import { compileMains, makeCompileFolder } from '../live/compile.ts';
import { endAll, endAllNow } from '../live/live-process.ts';
import { startFleet } from './fleet.ts';
import { flood } from './flood.ts';
import { gameday } from './gameday.ts';
import { Executions } from './executions.ts';
import { NAMESPACE, type Ground } from './ground.ts';
import { TASK_QUEUE } from './load.ts';
import { manyMoves } from './moves.ts';

const USAGE = `npm run gameday -- [flags]

Kills the active cell of a replicated namespace under load, fails over, brings the cell back, and prints what was lost, for
how long nothing was served, and the loss report.

  --lanes N     clients of the load (6)
  --lag MS      for how long the replica stands still before the cell dies (1000)

  --moves N     moves the namespace so many times instead, under an official worker and a thin one
  --open N      runs that are open all the while (500)

  --flood       floods the lane of one namespace instead, beside a quiet one and one that holds poison
  --quota N     transitions a second that a lane may carry (50)
  --seconds N   length of the flood (15)

  --keep        keeps logs and data, also of a day that went well
  --help
`;
const { values } = readCommandLine(USAGE, {
  options: {
    lanes: { type: 'string', default: '6' },
    lag: { type: 'string', default: '1000' },
    moves: { type: 'string' },
    open: { type: 'string', default: '500' },
    flood: { type: 'boolean', default: false },
    quota: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '15' },
    keep: { type: 'boolean', default: false },
  },
});
const INTERRUPTED = 130;
const beganMs = performance.now();

async function main(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'atoll-gameday-'));
  await chmod(folder, 0o755);
  const compiled = await makeCompileFolder();
  let keep = values.keep;
  try {
    const mains = await compileMains(compiled);
    if (values.flood) {
      const fine = await floodOn(mains, folder);
      keep ||= !fine;
      return fine;
    }
    const fleet = await startFleet(mains, folder);
    const made = await fleet.atoll(`namespace create ${NAMESPACE} --region a --replica b`);
    if (made.code !== 0) throw new Error(made.err);
    say('namespace orders is active in cell a, with a replica in cell b');
    const executions = new Executions();
    const fine = await withWorker({ fleet, executions }, () => playOn({ fleet, executions }));
    keep ||= !fine;
    return fine;
  } catch (error) {
    keep = true;
    throw error;
  } finally {
    await endAll();
    await rm(compiled, { recursive: true, force: true });
    if (keep) say(`logs and data are kept in ${folder}`);
    else await rm(folder, { recursive: true, force: true });
  }
}

async function floodOn(mains: string, folder: string): Promise<boolean> {
  const quota = countOf('quota', values.quota, 1);
  const seconds = countOf('seconds', values.seconds, 1);
  const fleet = await startFleet(mains, folder, { laneItemsPerSecond: quota });
  const connection = await Connection.connect({ address: fleet.address, interceptors: [] });
  try {
    const clientOf = (namespace: string) => new Client({ connection, namespace });
    return await flood({ fleet, clientOf }, { quota, seconds, say });
  } finally {
    await connection.close();
  }
}

async function playOn({ fleet, executions }: Omit<Ground, 'client'>): Promise<boolean> {
  // No retries: a call that fails is a failed call.
  const connection = await Connection.connect({ address: fleet.address, interceptors: [] });
  try {
    const client = new Client({ connection, namespace: NAMESPACE });
    const shared = { lanes: countOf('lanes', values.lanes, 1), say };
    const ground = { fleet, client, executions };
    if (values.moves === undefined) {
      return await gameday(ground, { ...shared, lagMs: countOf('lag', values.lag) });
    }
    const moves = countOf('moves', values.moves, 1);
    return await manyMoves(ground, { ...shared, moves, open: countOf('open', values.open) });
  } finally {
    await connection.close();
  }
}

/** One worker for the whole day: it is never restarted. */
async function withWorker<Value>(
  { fleet, executions }: Omit<Ground, 'client'>,
  run: () => Promise<Value>,
): Promise<Value> {
  const logger = new DefaultLogger('ERROR');
  const quiet = { logging: { filter: { core: 'ERROR', other: 'ERROR' } as const } };
  Runtime.install({ logger, telemetryOptions: quiet, shutdownSignals: [] });
  const workflowsPath = new URL('workflows.ts', import.meta.url).pathname;
  const connection = await NativeConnection.connect({ address: fleet.address });
  const worker = await Worker.create({
    connection,
    namespace: NAMESPACE,
    taskQueue: TASK_QUEUE,
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger }),
    activities: {
      note: async () => {
        const { workflowExecution, activityId, retryPolicy } = activityInfo();
        if (retryPolicy?.maximumAttempts !== 1) return;
        executions.began(workflowExecution?.runId ?? '', activityId);
      },
    },
  });
  try {
    return await worker.runUntil(run);
  } finally {
    await connection.close();
  }
}

function say(text: string): void {
  const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1).padStart(6);
  process.stdout.write(`${seconds} s  ${text}\n`);
}

process.once('exit', endAllNow);
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => void endAll().then(() => process.exit(INTERRUPTED)));
}
main().then(
  (fine) => {
    say(fine ? 'all that was acknowledged is there or reported' : 'NOT as promised: see above');
    process.exit(fine ? 0 : 1);
  },
  (error: unknown) => {
    say(`failed: ${error instanceof Error ? error.stack : String(error)}`);
    process.exit(1);
  },
);
