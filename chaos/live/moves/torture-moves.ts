/**
 * `npm run torture -- --moves [--open 500] [--lanes 3] [--step '^handover'] [--action target] [--keep]`: at each step of a planned
 * move it is aborted, or its orchestrator, source or target is killed (SIGKILL), under a light load.
 *
 * Place: torture.ts hands over to it. The last judge of P5 and of the moves' crash safety: real processes.
 *
 * Invariants
 *  1. True only if every case was carried out and ended as it was or moved, with both cells equal, nothing acknowledged missing,
 *     no activity of one attempt run twice, and no call failed but of a cell that was away.
 */
import type { Client } from '@temporalio/client';
import { NAMESPACE } from '../../gameday/ground.ts';
import { doubled, missingOf } from '../../gameday/judge.ts';
import { readRuns } from '../../gameday/read-runs.ts';
import { nameOf, type MoveCase } from './cases.ts';
import { MoveFleet } from './fleet.ts';
import { ranTwice } from './judge.ts';
import { Load } from './load.ts';
import { withClient } from './sdk.ts';
import { suffer, type Scene, type Suffered } from './suffer.ts';

export type MoveTorture = {
  /** Folder of the compiled mains. */
  readonly mains: string;
  /** Folder of data and logs. */
  readonly folder: string;
  readonly open: number;
  readonly lanes: number;
  readonly cases: readonly MoveCase[];
  readonly say: (text: string) => void;
};

/** Between two calls of a lane. */
const PAUSE_MS = 120;

/** Carries all cases out; resolves with what is wrong, best nothing. */
export async function tortureMoves(options: MoveTorture): Promise<readonly string[]> {
  const { mains, folder } = options;
  const fleet = await MoveFleet.start(mains, folder);
  const made = await fleet.atoll(`namespace create ${NAMESPACE} --region a --replica b`);
  if (made.code !== 0) throw new Error(made.err);
  return withClient(fleet.address, NAMESPACE, (client, ran) =>
    torment(fleet, { client, ran }, options),
  );
}

async function torment(
  fleet: MoveFleet,
  { client, ran }: { readonly client: Client; readonly ran: ReadonlyMap<string, number> },
  options: MoveTorture,
): Promise<readonly string[]> {
  const { open, lanes, say } = options;
  const load = new Load(client, { open, lanes, pauseMs: PAUSE_MS, workflow: 'working' });
  try {
    await load.begin();
    say(`${open} runs are open`);
    const findings = await tormentAll({ fleet, load, namespace: NAMESPACE }, options);
    await load.stop();
    return [...findings, ...(await judgeAll(fleet, { load, ran }, say))];
  } finally {
    await load.stop();
  }
}

async function tormentAll(scene: Scene, { cases, say }: MoveTorture): Promise<readonly string[]> {
  const rows: (readonly string[])[] = [['CASE', 'ENDED', 'PAUSE', 'FAILED CALLS', 'TOOK']];
  const findings: string[] = [];
  for (const [i, one] of cases.entries()) {
    const suffered = await suffer(scene, one);
    const row = rowOf(one, suffered);
    rows.push(row);
    say(`${i + 1}/${cases.length}  ${row.join('  ')}`);
    for (const finding of suffered.findings) say(`  FINDING ${finding}`);
    findings.push(...suffered.findings.map((finding) => `${nameOf(one)}: ${finding}`));
  }
  say(`\n${tableOf(rows)}`);
  return findings;
}

function rowOf(one: MoveCase, { ending, pauseMs, failedCalls, tookMs }: Suffered) {
  const pause = pauseMs === undefined ? '-' : `${pauseMs} ms`;
  return [nameOf(one), ending, pause, `${failedCalls}`, `${(tookMs / 1_000).toFixed(1)} s`];
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** What was acknowledged is there once, and what may run once did. */
async function judgeAll(
  fleet: MoveFleet,
  { load, ran }: { readonly load: Load; readonly ran: ReadonlyMap<string, number> },
  say: (text: string) => void,
): Promise<readonly string[]> {
  const read = await readRuns(fleet, load.log);
  const missing = missingOf(load.log, read);
  const again = doubled(read);
  const twice = ranTwice(ran);
  say(
    `${load.log.length} writes acknowledged, ${missing.length} missing, ${again.length} there twice; ${ran.size} activities of one attempt ran, ${twice.length} of them twice; ${load.failed.length} calls failed`,
  );
  return [
    ...missing.map((line) => `acknowledged and missing: ${JSON.stringify(line)}`),
    ...again.map((token) => `there twice: ${token}`),
    ...twice.map((token) => `ran twice: ${token}`),
  ];
}
