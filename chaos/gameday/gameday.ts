/**
 * A game day: the active cell of a replicated namespace is killed under load, the namespace fails over by command, the
 * dead cell comes back, converges, and gets the namespace again by a planned move. What was acknowledged is held against
 * what is there and against the loss report.
 *
 * Place: main.ts gives it processes and a worker; judge.ts judges.
 */
import { sleep, systemClock } from '../../kernel/clock.ts';
import { lossReportText } from '../../replication/losses/loss-report-text.ts';
import type { LossReport } from '../../replication/losses/loss-report.ts';
import { CachedRuns } from './cached-runs.ts';
import type { Fleet } from './fleet.ts';
import { assertDone, failedSince, moveTo, NAMESPACE, textOf, type Ground } from './ground.ts';
import { doubled, lostSpanMs, missingOf, unexplained } from './judge.ts';
import { Load, type Acknowledged } from './load.ts';
import { readRuns } from './read-runs.ts';
import { lossReportOf } from './read-loss-report.ts';

const LOOK_MS = 50;
const CALM_MS = 4_000;
const SERVED_WITHIN_MS = 60_000;
const CONVERGED_WITHIN_MS = 120_000;

export type GamedayOptions = {
  readonly lanes: number;
  /** The replica stands still for so long before the kill, so that there is something to lose. */
  readonly lagMs: number;
  readonly say: (text: string) => void;
};

type Loss = {
  readonly killedAt: number;
  readonly acknowledged: readonly Acknowledged[];
  readonly missing: readonly Acknowledged[];
};

/** True if nothing acknowledged is lost without being reported, and nothing else went wrong. */
export async function gameday(ground: Ground, options: GamedayOptions): Promise<boolean> {
  const { fleet } = ground;
  const { say, lanes } = options;
  const load = new Load(ground.client, { lanes, attempts: 0 });
  try {
    const cached = new CachedRuns(ground.client);
    await cached.start();
    await sleep(systemClock, CALM_MS);
    const loss = await loseCell({ ground, load, cached }, options);
    const { stuck, runs } = await cached.end();
    say(
      `the worker went on: ${runs - stuck.length} of ${runs} runs that it had in its cache ended`,
    );
    await sleep(systemClock, CALM_MS);
    say('cell a comes back');
    await fleet.cells.restart('a');
    await converge(fleet, say);
    const report = await lossReportOf(fleet, NAMESPACE);
    say(`\n${lossReportText(report)}`);
    const heldAll = await failBack(fleet, load, say);
    await load.stop();
    const converged = await converge(fleet, say);
    const fine = await judge(ground, { load, loss, report }, say);
    return fine && heldAll && converged && stuck.length === 0;
  } finally {
    await load.stop();
  }
}

/** Kills the active cell, fails over, and measures both. */
async function loseCell(
  seen: { readonly ground: Ground; readonly load: Load; readonly cached: CachedRuns },
  { lagMs, say }: GamedayOptions,
): Promise<Loss> {
  const { load, cached } = seen;
  const { fleet } = seen.ground;
  if (lagMs > 0) {
    fleet.cells.signal('b', 'SIGSTOP');
    await Promise.all([cached.goOn(), sleep(systemClock, lagMs)]);
  }
  const killedAt = systemClock.now();
  await fleet.cells.kill('a');
  fleet.cells.signal('b', 'SIGCONT');
  say(`cell a was killed (SIGKILL) with ${load.log.length} writes acknowledged; failing over to b`);
  const commandedAt = systemClock.now();
  const over = await fleet.atoll(`failover ${NAMESPACE} --to b --force`);
  say(over.err.trim());
  assertDone(over, 'the failover');
  const served = await firstAnswer(load, commandedAt);
  say(`RTO  ${served - commandedAt} ms from the command, ${served - killedAt} ms from the kill`);
  const acknowledged = load.log.filter(({ at }) => at <= killedAt);
  const missing = missingOf(acknowledged, await readRuns(fleet, acknowledged));
  const span = (lostSpanMs(missing, killedAt) / 1_000).toFixed(2);
  say(`RPO  ${missing.length} of ${acknowledged.length} acknowledged writes missing, of ${span} s`);
  return { killedAt, acknowledged, missing };
}

async function firstAnswer(load: Load, since: number): Promise<number> {
  const giveUpAt = since + SERVED_WITHIN_MS;
  for (;;) {
    const first = load.firstSince(since);
    if (first !== undefined) return first.at;
    if (systemClock.now() > giveUpAt) {
      throw new Error(`no write was acknowledged within ${SERVED_WITHIN_MS} ms of the failover`);
    }
    await sleep(systemClock, LOOK_MS);
  }
}

/** Asks until every execution is the same in both cells. */
async function converge(fleet: Fleet, say: (text: string) => void): Promise<boolean> {
  const beganMs = systemClock.monotonicMs();
  for (;;) {
    const { active, other } = await placement(fleet);
    const verified = await fleet.atoll(`move verify ${NAMESPACE} --against ${other}`);
    const tookMs = systemClock.monotonicMs() - beganMs;
    if (verified.code === 0 || tookMs > CONVERGED_WITHIN_MS) {
      const outcome = verified.code === 0 ? 'converged' : 'NOT converged';
      say(
        `${outcome} (${active} and ${other}) after ${Math.round(tookMs)} ms: ${textOf(verified)}`,
      );
      return verified.code === 0;
    }
    await sleep(systemClock, LOOK_MS);
  }
}

/** Moves the namespace home. True if no call failed meanwhile. */
async function failBack(fleet: Fleet, load: Load, say: (text: string) => void): Promise<boolean> {
  const beganAt = systemClock.now();
  const { pauseMs } = await moveTo(fleet, 'a');
  await sleep(systemClock, CALM_MS);
  const failed = failedSince(load, beganAt);
  say(`failed back to a: calls were held for ${pauseMs} ms, ${failed.length} failed`);
  for (const { what, why } of failed.slice(0, 5)) say(`  ${what}: ${why}`);
  return failed.length === 0;
}

async function judge(
  { fleet }: Ground,
  seen: { readonly load: Load; readonly loss: Loss; readonly report: LossReport },
  say: (text: string) => void,
): Promise<boolean> {
  const { load, loss, report } = seen;
  const read = await readRuns(fleet, load.log);
  const missing = missingOf(load.log, read);
  const bad = unexplained(missing, report);
  const again = doubled(read);
  const back = loss.missing.length - missing.length;
  say(`${load.log.length} writes acknowledged, ${load.failed.length} calls failed`);
  say(`missing at the failover ${loss.missing.length}, of which came back ${back}`);
  say(`missing for good ${missing.length}, not in the loss report ${bad.length}`);
  say(`signals that are there twice: ${again.length}`);
  for (const line of bad.slice(0, 10)) say(`  UNEXPLAINED ${JSON.stringify(line)}`);
  for (const token of again.slice(0, 10)) say(`  TWICE ${token}`);
  return bad.length === 0 && again.length === 0;
}

async function placement(fleet: Fleet): Promise<{ active: string; other: string }> {
  const described = await fleet.atoll(`namespace describe ${NAMESPACE} --json`);
  assertDone(described, 'describing the namespace');
  const { active } = JSON.parse(described.out) as { active: string };
  return { active, other: active === 'a' ? 'b' : 'a' };
}
