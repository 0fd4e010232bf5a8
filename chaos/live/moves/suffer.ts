/**
 * One case: a move is led to its step, there something is killed or the move is aborted, what was killed is started again,
 * and the end is looked at.
 *
 * Invariant: a case ends with both cells serving, no move running, and nothing held at a step.
 */
import { sleep, systemClock } from '../../../kernel/clock.ts';
import type { AdminResponse, MoveMessage } from '../../../wire/atoll/admin.ts';
import type { LiveProcess } from '../live-process.ts';
import { MAX_PAUSE_MS, type MoveCase } from './cases.ts';
import { CELLS, type CellId } from '../two-cells.ts';
import type { MoveFleet } from './fleet.ts';
import { endingOf, findingsOf, type Away, type Outcome, type Standing } from './judge.ts';
import type { Load } from './load.ts';
import { isSeeding, type MoveStep } from './move-step.ts';

export type Scene = {
  readonly fleet: MoveFleet;
  readonly load: Load;
  readonly namespace: string;
};

export type Suffered = {
  readonly ending: string;
  /** For how long calls were held, ms; undefined: not at all, or not known. */
  readonly pauseMs: number | undefined;
  readonly tookMs: number;
  readonly failedCalls: number;
  readonly findings: readonly string[];
};

const REACH_MS = 30_000;
const END_MS = 90_000;
const EQUAL_MS = 90_000;
const LOOK_MS = 200;
/** Runs that are signalled after each case, in all shards: where a gate is left, they do not answer. */
const KNOCKS = 24;

type Command = { readonly scene: Scene; readonly of: MoveCase; readonly id: string };

export async function suffer(scene: Scene, of: MoveCase): Promise<Suffered> {
  const { fleet, load, namespace } = scene;
  const beganAt = systemClock.now();
  const failedBefore = load.failed.length;
  const before = await prepared(scene, of);
  const target = CELLS.find((cell) => cell !== before.active) ?? 'a';
  const holder = reachStep(scene, of);
  const started = await command<MoveMessage>(
    fleet,
    `move start ${namespace} --to ${target} --confirm --max-pause ${MAX_PAUSE_MS}ms`,
  );
  const run = { scene, of, id: started.id ?? '' };
  const findings: string[] = [];
  const held = await holder;
  let away: Away | undefined;
  if (held === undefined) findings.push('the step was not reached');
  else away = await act(run, held, { source: before.active as CellId, target });
  const move = await ended(run);
  const knocked = await load.knock(KNOCKS);
  const after = await standing(scene);
  const failed = load.failed.slice(failedBefore);
  const outcome: Outcome = { of, before, after, target, failed, away };
  findings.push(...findingsOf(outcome));
  if (move.phase !== 'finished') findings.push(`the move is in ${move.phase}: ${move.note ?? ''}`);
  if (knocked < KNOCKS) findings.push(`${KNOCKS - knocked} of ${KNOCKS} runs do not answer`);
  findings.push(...(await difference(scene, after)), ...fleet.ended());
  return {
    ending: `${endingOf(outcome) ?? 'NEITHER'} (${move.outcome ?? move.phase ?? ''})`,
    pauseMs: move.pauseMs,
    tookMs: systemClock.now() - beganAt,
    failedCalls: failed.length,
    findings,
  };
}

/** How the namespace stands, without its replica where the move shall make one. */
async function prepared(scene: Scene, { step }: MoveCase): Promise<Standing> {
  const { active } = await standing(scene);
  if (isSeeding(step)) await replicate(scene, active);
  return standing(scene);
}

async function replicate({ fleet, namespace }: Scene, cells: string): Promise<void> {
  await command(fleet, `namespace update ${namespace} --replicas ${cells}`);
}

/** The admin that waits at the step. Behind an abort there is one more: the move is aborted at the flip first. */
async function reachStep({ fleet, namespace }: Scene, { step }: MoveCase) {
  if (step !== 'reopen: observe source') return fleet.reach(step, REACH_MS);
  const first: MoveStep = 'handover to release';
  if ((await fleet.reach(first, REACH_MS)) === undefined) return undefined;
  await command(fleet, `move abort ${namespace}`);
  return fleet.reach(step, REACH_MS);
}

async function act(
  { scene: { fleet, namespace }, of, id }: Command,
  holder: LiveProcess,
  cells: { readonly source: CellId; readonly target: CellId },
): Promise<Away | undefined> {
  switch (of.action) {
    case 'abort':
      // Refused once it is flipped, which is right: the ending tells.
      await fleet.atoll(`move abort ${namespace} --move ${id}`);
      holder.letGo();
      return undefined;
    case 'kill orchestrator':
      await fleet.replaceAdmin(holder);
      return undefined;
    case 'kill source':
    case 'kill target': {
      const victim = of.action === 'kill source' ? cells.source : cells.target;
      const from = systemClock.now();
      await fleet.cells.kill(victim);
      holder.letGo();
      await sleep(systemClock, of.awayMs);
      await fleet.cells.restart(victim);
      return { from, to: systemClock.now() };
    }
  }
}

/** The move when it is over, or as it is when that takes too long: then it is given up, so that the next can begin. */
async function ended({ scene: { fleet, namespace }, id }: Command): Promise<MoveMessage> {
  const giveUpMs = systemClock.monotonicMs() + END_MS;
  for (;;) {
    const { move = {} } = await command<AdminResponse<'DescribeMove'>>(
      fleet,
      `move status ${namespace} --move ${id}`,
    );
    if (move.phase === 'finished') return move;
    if (systemClock.monotonicMs() > giveUpMs) {
      await fleet.atoll(`move abort ${namespace} --move ${id} --wait`);
      return move;
    }
    await sleep(systemClock, LOOK_MS);
  }
}

/** Nothing, once every execution is the same in both cells. */
async function difference(
  scene: Scene,
  { active, replicas }: Standing,
): Promise<readonly string[]> {
  const { fleet, namespace } = scene;
  if (replicas.length < CELLS.length) await replicate(scene, String(CELLS));
  const against = CELLS.find((cell) => cell !== active) ?? 'a';
  const giveUpMs = systemClock.monotonicMs() + EQUAL_MS;
  for (;;) {
    const { code, out, err } = await fleet.atoll(`move verify ${namespace} --against ${against}`);
    if (code === 0) return [];
    if (systemClock.monotonicMs() > giveUpMs) return [`the cells differ: ${out}${err}`];
    await sleep(systemClock, LOOK_MS);
  }
}

async function standing({ fleet, namespace }: Scene): Promise<Standing> {
  return command<Standing>(fleet, `namespace describe ${namespace}`);
}

/** The command's answer. @throws when it failed */
async function command<Answer>(fleet: MoveFleet, line: string): Promise<Answer> {
  const { code, out, err } = await fleet.atoll(`${line} --json`);
  if (code !== 0) throw new Error(`atoll ${line} ended with ${code}: ${err}${out}`);
  return JSON.parse(out) as Answer;
}
