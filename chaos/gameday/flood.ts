/**
 * One namespace floods its lane ten times over its quota while another one goes on (P10), and one run of that other one
 * has a step that the replica cannot take (P9).
 *
 * Place: main.ts with `--flood`. No worker: runs are signaled, each signal is one step of the lane.
 */
import type { Client } from '@temporalio/client';
import { Client as Postgres } from 'pg';
import { sleep, systemClock } from '../../kernel/clock.ts';
import type { Fleet } from './fleet.ts';
import { assertDone } from './ground.ts';
import { LaneWatch, p99, type Seen } from './lane-watch.ts';

const [LOUD, QUIET] = ['loud', 'quiet'];
const POISONED = 'poisoned';
const TICK_MS = 20;
const QUIET_PER_SECOND = 20;
const RUNS = 50;
const IN_FLIGHT = 500;
/** Checkpoints and lanes are behind what was decided by less. */
const SETTLE_MS = 4_000;
const LETTER_WITHIN_MS = 10_000;
const LEAST_IDLE = 0.2;
const LEAST_LIMIT_MS = 250;

export type FloodGround = {
  readonly fleet: Fleet;
  readonly clientOf: (namespace: string) => Client;
};

export type FloodOptions = {
  /** Steps a second of the loud lane: `laneItemsPerSecond` of the cells. */
  readonly quota: number;
  readonly seconds: number;
  readonly say: (text: string) => void;
};

/** True if the neighbour kept its lag and the poison stopped nothing else. */
export async function flood(ground: FloodGround, options: FloodOptions): Promise<boolean> {
  const { fleet } = ground;
  const ids = { [LOUD]: await create(fleet, LOUD), [QUIET]: await create(fleet, QUIET) };
  const [loudId = '', quietId = ''] = [ids[LOUD], ids[QUIET]];
  await startRuns(ground, LOUD, RUNS);
  await startRuns(ground, QUIET, RUNS);
  const poisonedRun = await poison(ground, quietId);
  const watch = await LaneWatch.open(fleet.cells.folder);
  try {
    const calm = new Signals(ground, { namespace: QUIET, perSecond: QUIET_PER_SECOND });
    const quiet = await watch.during(quietId, options.seconds * 1_000);
    const storm = new Signals(ground, { namespace: LOUD, perSecond: 10 * options.quota });
    const loudWindow = watch.during(loudId, options.seconds * 1_000);
    await ground.clientOf(QUIET).workflow.getHandle(POISONED).signal('go');
    const flooded = await watch.during(quietId, options.seconds * 1_000);
    const loud = await loudWindow;
    const { acknowledged } = storm;
    await Promise.all([calm.stop(), storm.stop()]);
    tellQuota(loud, { ...options, acknowledged });
    const isCalm = judgeLag(quiet, flooded, options.say);
    const isPoisonFine = await judgePoison({ watch, fleet }, { quietId, poisonedRun }, options.say);
    const failed = calm.failed + storm.failed;
    if (failed > 0) options.say(`${failed} signals failed`);
    return isCalm && isPoisonFine && failed === 0;
  } finally {
    await watch.close();
  }
}

async function create(fleet: Fleet, name: string): Promise<string> {
  assertDone(
    await fleet.atoll(`namespace create ${name} --region a --replica b`),
    `making ${name}`,
  );
  const described = await fleet.atoll(`namespace describe ${name} --json`);
  assertDone(described, `describing ${name}`);
  return (JSON.parse(described.out) as { readonly id: string }).id;
}

async function startRuns({ clientOf }: FloodGround, name: string, count: number): Promise<void> {
  const start = (workflowId: string) =>
    clientOf(name).workflow.start('flood', { workflowId, taskQueue: 'nobody' });
  for (let n = 0; n < count; n += 1) await start(`${name}-${n}`);
}

/** A run whose row at cell b is torn, and a cell b that has to read it. Returns its run id. */
async function poison({ fleet, clientOf }: FloodGround, namespaceId: string): Promise<string> {
  const options = { workflowId: POISONED, taskQueue: 'nobody' };
  const { firstExecutionRunId: runId } = await clientOf(QUIET).workflow.start('flood', options);
  await sleep(systemClock, SETTLE_MS);
  await fleet.cells.kill('b');
  const torn = await query(fleet.cells.databaseUrl('b'), {
    text: `UPDATE run SET state = substr(state, 1, 20) WHERE namespace_id = $1 AND run_id = $2`,
    values: [namespaceId, runId],
  });
  if (torn !== 1) throw new Error(`cell b has ${torn} rows of the run that was to be torn`);
  await fleet.cells.restart('b');
  await sleep(systemClock, SETTLE_MS);
  return runId;
}

/** Signals at a steady rate, whatever becomes of the ones before. */
class Signals {
  acknowledged = 0;
  failed = 0;
  readonly #client: Client;
  readonly #namespace: string;
  readonly #perTick: number;
  readonly #running: Promise<void>;
  readonly #open = new Set<Promise<void>>();
  #sent = 0;
  #over = false;

  constructor(
    { clientOf }: FloodGround,
    load: { readonly namespace: string; readonly perSecond: number },
  ) {
    this.#client = clientOf(load.namespace);
    this.#namespace = load.namespace;
    this.#perTick = (load.perSecond * TICK_MS) / 1_000;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#running;
    await Promise.all(this.#open);
  }

  async #run(): Promise<void> {
    const beganMs = systemClock.monotonicMs();
    while (!this.#over) {
      const due = ((systemClock.monotonicMs() - beganMs) / TICK_MS) * this.#perTick;
      while (this.#sent < due && this.#open.size < IN_FLIGHT) this.#send();
      await sleep(systemClock, TICK_MS);
    }
  }

  #send(): void {
    this.#sent += 1;
    const handle = this.#client.workflow.getHandle(`${this.#namespace}-${this.#sent % RUNS}`);
    const sending: Promise<void> = handle
      .signal('go')
      .then(
        () => void (this.acknowledged += 1),
        () => void (this.failed += 1),
      )
      .finally(() => this.#open.delete(sending));
    this.#open.add(sending);
  }
}

function tellQuota(
  { first, last, seconds }: Seen,
  { quota, acknowledged, say }: FloodOptions & { readonly acknowledged: number },
): void {
  const offered = acknowledged / seconds;
  const used = (acknowledged - (last.pending - first.pending)) / seconds;
  const [rate, share] = [offered.toFixed(0), ((100 * used) / quota).toFixed(0)];
  say(`loud:  ${rate} signals/s acknowledged, quota ${quota}/s used to ${share}%`);
  say(`       ${last.kind === 'copy' ? 'in copy' : `${last.pending} steps behind`}`);
}

function judgeLag(quiet: Seen, flooded: Seen, say: FloodOptions['say']): boolean {
  const [calm, under] = [p99(quiet.lagsMs), p99(flooded.lagsMs)];
  const limit = Math.max(2 * calm, LEAST_LIMIT_MS);
  say(`quiet: lag p99 ${calm.toFixed(0)} ms alone, ${under.toFixed(0)} ms beside the flood`);
  const idle = `${(100 * flooded.idle).toFixed(0)}% of the machine idle (aim >= ${100 * LEAST_IDLE}%)`;
  const isFine = under <= limit;
  const verdict = isFine ? 'met' : flooded.idle < LEAST_IDLE ? 'does not count' : 'NOT met';
  say(`       aim <= ${limit.toFixed(0)} ms: ${verdict}; ${idle}`);
  return isFine;
}

async function judgePoison(
  { watch, fleet }: { readonly watch: LaneWatch; readonly fleet: Fleet },
  of: { readonly quietId: string; readonly poisonedRun: string },
  say: FloodOptions['say'],
): Promise<boolean> {
  const giveUpMs = systemClock.monotonicMs() + LETTER_WITHIN_MS;
  let letters: readonly Letter[] = [];
  while (letters.length === 0 && systemClock.monotonicMs() < giveUpMs) {
    letters = await lettersOf(fleet, of.quietId);
    await sleep(systemClock, TICK_MS);
  }
  for (const { workflow_id: id, transition, reason } of letters) {
    say(`dead letter: ${id}, step ${transition}: ${reason}`);
  }
  const { kind, pending } = await watch.status(of.quietId);
  say(`quiet: the lane is in ${kind}, ${pending} steps behind`);
  const isAlone = letters.length > 0 && letters.every((one) => one.run_id === of.poisonedRun);
  return isAlone && kind === 'tail';
}

type Letter = {
  readonly workflow_id: string;
  readonly run_id: string;
  readonly transition: number;
  readonly reason: string;
};

async function lettersOf(fleet: Fleet, namespaceId: string): Promise<readonly Letter[]> {
  const rows: Letter[] = [];
  await query(fleet.cells.databaseUrl('a'), {
    text: 'SELECT workflow_id, run_id::text, transition::float8, reason FROM dead_letter WHERE namespace_id = $1',
    values: [namespaceId],
    rows,
  });
  return rows;
}

/** How many rows it touched; those that it returns go to `rows`. */
async function query(
  url: string,
  statement: {
    readonly text: string;
    readonly values: readonly string[];
    readonly rows?: unknown[];
  },
): Promise<number> {
  const client = new Postgres({ connectionString: url });
  await client.connect();
  try {
    const result = await client.query(statement.text, [...statement.values]);
    statement.rows?.push(...result.rows);
    return result.rowCount ?? 0;
  } finally {
    await client.end();
  }
}
