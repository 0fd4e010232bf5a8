/**
 * `npm run torture -- --there-and-back 3 [--gap 2000] [--open 60] [--lanes 12] [--lane-items 40]`: a commanded failover, and
 * a commanded failback within the lag, on real processes. Lanes are slow by their quota, and runs keep their workflow task
 * open, so that most signals are buffered events when the branches part.
 *
 * Place: torture.ts hands over to it. The last judge of P6 and of the loss report.
 *
 * Invariants
 *  1. True only if both cells end equal, no signal is there twice, and the loss report names exactly the executions of which
 *     the client's log misses something.
 */
import type { Client } from '@temporalio/client';
import { sleep, systemClock } from '../../../kernel/clock.ts';
import { NAMESPACE } from '../../gameday/ground.ts';
import { doubled, missingOf } from '../../gameday/judge.ts';
import { lossReportOf } from '../../gameday/read-loss-report.ts';
import { readRuns } from '../../gameday/read-runs.ts';
import { MoveFleet } from './fleet.ts';
import { misreported } from './judge.ts';
import { Load } from './load.ts';
import { withClient } from './sdk.ts';

export type ThereAndBack = {
  readonly mains: string;
  readonly folder: string;
  /** How often it goes there and back. */
  readonly times: number;
  /** From one command to the other, ms. */
  readonly gapMs: number;
  readonly open: number;
  readonly lanes: number;
  /** Steps a second that a lane between the cells carries. */
  readonly laneItems: number;
  readonly say: (text: string) => void;
};

const CALM_MS = 5_000;
const SWITCHED_MS = 20_000;
const EQUAL_MS = 180_000;
const LOOK_MS = 500;
const PAUSE_MS = 80;

/** Resolves with what is wrong, best nothing. */
export async function thereAndBack(options: ThereAndBack): Promise<readonly string[]> {
  const { mains, folder, laneItems } = options;
  const slow = ['--lane-items-per-second', `${laneItems}`];
  const fleet = await MoveFleet.start(mains, folder, slow);
  await done(fleet, `namespace create ${NAMESPACE} --region a --replica b`);
  return withClient(fleet.address, NAMESPACE, async (client) => {
    const findings: string[] = [];
    for (let n = 1; n <= options.times; n += 1) {
      const found = await once(fleet, client, { ...options, prefix: `${n}-` });
      findings.push(...found.map((finding) => `time ${n}: ${finding}`));
    }
    return findings;
  });
}

async function once(
  fleet: MoveFleet,
  client: Client,
  options: ThereAndBack & { readonly prefix: string },
): Promise<readonly string[]> {
  const { gapMs, say } = options;
  const load = new Load(client, { ...options, pauseMs: PAUSE_MS, workflow: 'dwelling' });
  try {
    await load.begin();
    await sleep(systemClock, CALM_MS);
    await overAndBack(fleet, gapMs, say);
    await sleep(systemClock, CALM_MS);
  } finally {
    await load.stop();
  }
  const unequal = await untilEqual(fleet, say);
  const report = await lossReportOf(fleet, NAMESPACE);
  const read = await readRuns(fleet, load.log);
  const missing = missingOf(load.log, read);
  const again = doubled(read);
  const outcomes = new Set(report.executions.map(({ outcome }) => outcome));
  const counts = [...outcomes]
    .map((of) => `${report.executions.filter(({ outcome }) => outcome === of).length} ${of}`)
    .join(', ');
  say(
    `${load.log.length} writes acknowledged, ${load.failed.length} calls failed, ${missing.length} missing, ${again.length} there twice; reported: ${counts || 'nothing'}`,
  );
  return [
    ...unequal,
    ...again.map((token) => `there twice: ${token}`),
    ...misreported({ log: load.log, missing, report }),
  ];
}

/** The second command does not wait for the first to end, only for its switch. */
async function overAndBack(
  fleet: MoveFleet,
  gapMs: number,
  say: (text: string) => void,
): Promise<void> {
  const beganMs = systemClock.monotonicMs();
  const over = failOver(fleet, 'b', say);
  await sleep(systemClock, gapMs);
  await activeIn(fleet, 'b');
  const gap = Math.round(systemClock.monotonicMs() - beganMs);
  say(`failing back ${gap} ms after the failover was commanded`);
  await Promise.all([over, failOver(fleet, 'a', say)]);
}

async function activeIn(fleet: MoveFleet, cell: string): Promise<void> {
  const giveUpMs = systemClock.monotonicMs() + SWITCHED_MS;
  for (;;) {
    const { out } = await fleet.atoll(`namespace describe ${NAMESPACE} --json`);
    if ((JSON.parse(out) as { readonly active?: string }).active === cell) return;
    if (systemClock.monotonicMs() > giveUpMs) throw new Error(`${cell} did not become active`);
    await sleep(systemClock, LOOK_MS / 10);
  }
}

async function failOver(fleet: MoveFleet, to: string, say: (text: string) => void): Promise<void> {
  const beganMs = systemClock.monotonicMs();
  const err = await done(fleet, `failover ${NAMESPACE} --to ${to} --force`);
  const tookMs = Math.round(systemClock.monotonicMs() - beganMs);
  const [, estimate = ''] = err.trim().split('\n');
  say(`failed over to ${to} in ${tookMs} ms: ${estimate}`);
}

/** Nothing, once every execution is the same in both cells, by what is stored. Nothing is repaired. */
async function untilEqual(
  fleet: MoveFleet,
  say: (text: string) => void,
): Promise<readonly string[]> {
  const beganMs = systemClock.monotonicMs();
  for (;;) {
    const { code, out, err } = await fleet.atoll(`move verify ${NAMESPACE} --against b --stored`);
    const tookMs = Math.round(systemClock.monotonicMs() - beganMs);
    if (code === 0) {
      say(`equal after ${tookMs} ms: ${out.trim()}`);
      return [];
    }
    if (tookMs > EQUAL_MS) {
      const { out: status } = await fleet.atoll(`move status ${NAMESPACE}`);
      return [`the cells differ after ${tookMs} ms: ${out}${err}${status}`];
    }
    await sleep(systemClock, LOOK_MS);
  }
}

/** What the command says beside its answer. @throws when it failed */
async function done(fleet: MoveFleet, line: string): Promise<string> {
  const { code, out, err } = await fleet.atoll(line);
  if (code !== 0) throw new Error(`atoll ${line} ended with ${code}: ${err}${out}`);
  return err;
}
