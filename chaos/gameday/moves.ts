/**
 * Many planned moves of one namespace, there and back, with runs that are open all the while and others that come and go,
 * under an official worker and a thin one (P4, P5): prints the pause of each and where it went. No call may fail, both cells
 * must hold the same executions after each, and no activity with one attempt may run twice.
 *
 * Place: main.ts gives it processes and the official worker.
 */
import { sleep, systemClock } from '../../kernel/clock.ts';
import { moveTo, NAMESPACE, openRuns, verify, type Ground, type Pause } from './ground.ts';
import { doubled, missingOf } from './judge.ts';
import { Load, type Failed, type Took } from './load.ts';
import { readRuns } from './read-runs.ts';
import { ThinLoad } from './thin-load.ts';
import { ThinWorker } from './thin-worker.ts';

const CALM_MS = 2_000;
/** Of the open runs so many are the official worker's, which keeps a sandbox of each; the others are the thin one's. */
const OFFICIAL_SHARE = 0.1;
const THIN_LANES = 4;
const FINISHED_WITHIN_MS = 60_000;
const SETTLED_WITHIN_MS = 600_000;
const LOOK_EVERY_MS = 500;

export type MovesOptions = {
  readonly moves: number;
  /** Runs that are open from the beginning to the end. */
  readonly open: number;
  readonly lanes: number;
  readonly say: (text: string) => void;
};

/** Who calls: each keeps what failed, and how long its calls took. */
type Party = { readonly failed: readonly Failed[]; readonly took?: readonly Took[] };

/** True if all was as promised. */
export async function manyMoves(ground: Ground, options: MovesOptions): Promise<boolean> {
  const { fleet, client, executions } = ground;
  const { open, lanes, say } = options;
  const worker = new ThinWorker(fleet.address, { namespace: NAMESPACE, executions });
  const thin = new ThinLoad(fleet.address, NAMESPACE);
  try {
    const official = Math.round(open * OFFICIAL_SHARE);
    await Promise.all([openRuns(client, official), thin.open(open - official)]);
    await settled(worker, open - official);
    say(`${open} runs are open, ${official} of them of the official worker`);
    const load = new Load(client, { lanes, attempts: 1 });
    thin.begin(THIN_LANES);
    let fine = false;
    try {
      fine = await there(ground, [load, thin, worker], options);
    } finally {
      await Promise.all([load.stop(), thin.stop()]);
    }
    say(`${worker.stale} workflow tasks were stale after a move and done again`);
    const ended = await judge(ground, { load, thin }, options);
    return ended && fine;
  } finally {
    await worker.stop();
    thin.close();
  }
}

/** Until the thin worker's runs wait for their timers. Else what starts later stands behind their first tasks, for minutes. */
async function settled(worker: ThinWorker, runs: number): Promise<void> {
  const giveUpMs = systemClock.monotonicMs() + SETTLED_WITHIN_MS;
  while (worker.timers < runs) {
    if (systemClock.monotonicMs() > giveUpMs)
      throw new Error(`${worker.timers} of ${runs} runs had their first task in time`);
    await sleep(systemClock, LOOK_EVERY_MS);
  }
}

/** The moves. True if no call failed, and the cells were equal after each. */
async function there(
  ground: Ground,
  parties: readonly Party[],
  { moves, say }: MovesOptions,
): Promise<boolean> {
  const pauses: number[] = [];
  let fine = true;
  for (let n = 1; n <= moves; n += 1) {
    await sleep(systemClock, CALM_MS);
    const beganAt = systemClock.now();
    const to = n % 2 === 1 ? 'b' : 'a';
    const moved = await moveTo(ground.fleet, to);
    const tookMs = systemClock.now() - beganAt;
    pauses.push(moved.pauseMs);
    const failed = parties.flatMap((party) => party.failed.filter(({ at }) => at >= beganAt));
    const took = parties.flatMap(({ took: all = [] }) =>
      all.filter(({ at, ms }) => at + ms >= beganAt),
    );
    const slowest = Math.max(0, ...took.map(({ ms }) => ms));
    const { compared, equal, differences, moving } = moved.verified;
    say(`move ${n} to ${to}: ${pauseText(moved)}; ${tookMs} ms in all`);
    say(`  ${took.length} calls, the slowest took ${slowest} ms, ${failed.length} failed`);
    say(`  ${compared} compared, ${equal} equal, ${differences} differ, ${moving} in motion`);
    for (const { what, why } of failed.slice(0, 5)) say(`  ${what}: ${why}`);
    fine &&= failed.length === 0 && differences === 0;
  }
  const all = pauses.toSorted((a, b) => a - b);
  const calls = parties.reduce((sum, { took = [] }) => sum + took.length, 0);
  const failures = parties.reduce((sum, { failed }) => sum + failed.length, 0);
  say(`pauses ${pauses.join(', ')} ms: median ${all[all.length >> 1]}, worst ${all.at(-1)} ms`);
  say(`${calls} calls of clients, ${failures} failed`);
  return fine && failures === 0;
}

function pauseText({ pauseMs, parts }: Pause): string {
  const { gatesMs, drainMs, compareMs, switchMs, openMs, compared = 0 } = parts;
  return `calls held for ${pauseMs} ms (gates ${gatesMs}, drain ${drainMs}, compare ${compareMs} of ${compared}, switch ${switchMs}, open ${openMs})`;
}

/** After the load: everything that was acknowledged is there, once, and the cells hold the same. */
async function judge(
  { fleet, executions }: Ground,
  { load, thin }: { readonly load: Load; readonly thin: ThinLoad },
  { moves, say }: MovesOptions,
): Promise<boolean> {
  const unfinished = await thin.unfinished(FINISHED_WITHIN_MS);
  const read = await readRuns(fleet, load.log);
  const missing = missingOf(load.log, read);
  const again = doubled(read);
  const twice = executions.doubled;
  const last = await verify(fleet, moves % 2 === 1 ? 'b' : 'a', true);
  const { compared, equal, differences, moving } = last;
  const writes = load.log.length + thin.started.length + thin.signals;
  say(`${writes} writes acknowledged; missing ${missing.length}, signals twice ${again.length}`);
  say(`${thin.started.length} thin workflows, of which did not end ${unfinished.length}`);
  say(`${executions.count} activities with one attempt, of which ran twice ${twice.length}`);
  say(`in the end, read from what is stored: ${compared} compared, ${equal} equal`);
  for (const key of twice.slice(0, 5)) say(`  TWICE ${key}`);
  for (const id of unfinished.slice(0, 5)) say(`  UNFINISHED ${id}`);
  const bad = missing.length + again.length + twice.length + unfinished.length;
  return bad === 0 && differences === 0 && moving === 0 && compared === equal;
}
