/**
 * `npm run torture`: the order example on a live engine whose processes are killed at the worst moments; or moves of a
 * namespace in which who takes part is killed (moves/torture-moves.ts), or failovers there and back (moves/there-and-back.ts).
 *
 * Place: the last judge of P1, P3 and P4: real processes, a real PostgreSQL, SIGKILL.
 *
 * Invariants
 *  1. Exit code 0 only if every kill that is owed happened, the ledger reconciled and the judge found nothing.
 *  2. Whatever happens, Ctrl-C included, every process that was started is ended by its pid; logs and data stay only of a
 *     run that failed.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../../examples/order-fulfilment/throwaway-folder.ts';
import { systemClock } from '../../kernel/clock.ts';
import { countOf, patternOf, readCommandLine, refuse } from '../command-line.ts';
import { compileMains, makeCompileFolder } from './compile.ts';
import { endAll, endAllNow } from './live-process.ts';
import { ACTIONS, planCases } from './moves/cases.ts';
import { MOVE_STEPS } from './moves/move-step.ts';
import { runPhase } from './phase.ts';
import { planRounds, type PlanSize } from './rounds.ts';
import { Tally } from './tally.ts';
import { layOutCells, layOutDev, type LaidOut, type LayOut } from './topologies.ts';

const USAGE = `npm run torture -- [flags]

Runs the order example on a live engine and kills its processes at the worst moments.

  --only NAME           one layout alone: cells (router, two cells, PostgreSQL) or dev
  --kills N             of each kind (10)
  --orders N            orders that are placed (1000)
  --ship-within TIME    of an order (20s)
  --seed N              draws the moments (1)

  --moves               planned moves instead: at each step an abort, or a kill of orchestrator, source or target
  --step REGEX          only at these steps
  --action REGEX        only these actions
  --open N              runs that are open all the while (500)
  --lanes N             clients of the load (3)

  --there-and-back N    fails over and back so many times instead, while lanes are slow
  --gap MS              between the two commands (2000)
  --lane-items N        transitions a second that a lane may carry (40)
  --open N, --lanes N   as above (60, 12)

  --keep                keeps logs and data, also of a run that went well
  --help
`;
const { values } = readCommandLine(USAGE, {
  options: {
    only: { type: 'string' },
    kills: { type: 'string', default: '10' },
    orders: { type: 'string', default: '1000' },
    'ship-within': { type: 'string', default: '20s' },
    seed: { type: 'string', default: '1' },
    moves: { type: 'boolean', default: false },
    'there-and-back': { type: 'string' },
    gap: { type: 'string', default: '2000' },
    'lane-items': { type: 'string', default: '40' },
    open: { type: 'string' },
    lanes: { type: 'string' },
    step: { type: 'string', default: '' },
    action: { type: 'string', default: '' },
    keep: { type: 'boolean', default: false },
  },
});

type Phase = {
  readonly name: string;
  readonly layOut: (options: LayOut) => Promise<LaidOut>;
  /** Kills in this phase, over all its engines. */
  readonly size: PlanSize;
  readonly orders: number;
};

const kills = countOf('kills', values.kills);
const orders = countOf('orders', values.orders, 1);
const seed = countOf('seed', values.seed);
const size = { stepKills: kills, databaseKills: kills };
const PHASES: readonly Phase[] = [
  { name: 'cells', layOut: layOutCells, size, orders },
  // One engine takes all kills one after another: more rounds, so fewer orders a round.
  { name: 'dev', layOut: layOutDev, size, orders: Math.ceil(orders / 2) },
];

const phases = PHASES.filter(({ name }) => name === (values.only ?? name));
if (phases.length === 0) refuse(`--only ${values.only}: cells or dev`);

const [step, action] = [patternOf('step', values.step), patternOf('action', values.action)];
const cases = planCases().filter((one) => step.test(one.step) && action.test(one.action));
if (cases.length === 0) {
  const lists = [`Steps:\n  ${MOVE_STEPS.join('\n  ')}`, `Actions:\n  ${ACTIONS.join('\n  ')}`];
  refuse(`no case fits --step ${values.step} --action ${values.action}\n\n${lists.join('\n\n')}`);
}

/** Runs one phase; resolves with what is wrong. */
async function torture(phase: Phase, root: string, mains: string): Promise<readonly string[]> {
  const folder = join(root, phase.name);
  await mkdir(folder, { recursive: true });
  const say = sayAs(phase.name);
  const tally = new Tally(owed(phase.size));
  say('starting the engine');
  const { topologies, stop } = await phase.layOut({ mains, folder, tally, say });
  const share = topologies.length;
  const found = await Promise.all(
    topologies.map(async (topology, index) => {
      const own = join(folder, topology.namespace);
      await mkdir(own, { recursive: true });
      return runPhase({
        topology,
        rounds: planRounds(shareOf(phase.size, share, index), seed + index),
        tally,
        orders: Math.ceil(phase.orders / share),
        shipWithin: values['ship-within'],
        folder: own,
        say: sayAs(`${phase.name} ${topology.namespace}`),
      });
    }),
  );
  await stop();
  const findings = [
    ...found.flat(),
    ...topologies.flatMap(({ victim }) => victim.findings),
    ...tally.missing(),
  ];
  process.stdout.write(`kills, ${phase.name}:\n${tally.describe()}\n`);
  return findings.map((finding) => `${phase.name}: ${finding}`);
}

/** Engine `index` of `share` gets its part of the kills; together they get all. */
function shareOf({ stepKills, databaseKills }: PlanSize, share: number, index: number): PlanSize {
  const part = (count: number) => Math.floor((count + index) / share);
  return { stepKills: part(stepKills), databaseKills: part(databaseKills) };
}

function owed({ stepKills, databaseKills }: PlanSize): Readonly<Record<string, number>> {
  return {
    'append in flight': stepKills,
    'append stored and not answered': stepKills,
    checkpoint: stepKills,
    truncation: stepKills,
    takeover: stepKills,
    PostgreSQL: databaseKills,
  };
}

function sayAs(name: string): (text: string) => void {
  return (text) => void process.stdout.write(`[${name}] ${text}\n`);
}

/** The forms of moves. The SDK's worker is loaded for them alone. */
async function moves(mains: string): Promise<readonly string[]> {
  const { open, lanes, gap } = values;
  const shared = { mains, folder: root, say: sayAs('moves') };
  if (values['there-and-back'] === undefined) {
    const { tortureMoves } = await import('./moves/torture-moves.ts');
    const counts = {
      open: countOf('open', open ?? '500'),
      lanes: countOf('lanes', lanes ?? '3', 1),
    };
    return tortureMoves({ ...shared, ...counts, cases });
  }
  const { thereAndBack } = await import('./moves/there-and-back.ts');
  const counts = { open: countOf('open', open ?? '60'), lanes: countOf('lanes', lanes ?? '12', 1) };
  const pace = {
    gapMs: countOf('gap', gap),
    laneItems: countOf('lane-items', values['lane-items'], 1),
  };
  return thereAndBack({
    ...shared,
    ...counts,
    ...pace,
    times: countOf('there-and-back', values['there-and-back'] ?? '', 1),
  });
}

async function run(): Promise<boolean> {
  const began = systemClock.monotonicMs();
  const findings: string[] = [];
  process.stdout.write('compiling\n');
  const mains = await compileMains(compiled);
  const ofMoves = values.moves || values['there-and-back'] !== undefined;
  if (ofMoves) findings.push(...(await moves(mains)));
  for (const phase of ofMoves ? [] : phases) {
    findings.push(...(await torture(phase, root, mains)));
    if (findings.length > 0) break;
  }
  for (const finding of findings.slice(0, 20)) process.stdout.write(`  ${finding}\n`);
  const seconds = ((systemClock.monotonicMs() - began) / 1_000).toFixed(0);
  const fine = findings.length === 0;
  process.stdout.write(
    fine
      ? `torture: nothing acknowledged is missing, nothing was done twice (${seconds} s)\n`
      : `torture: ${findings.length} findings (${seconds} s); logs are in ${root}\n`,
  );
  return fine;
}

const root = await makeThrowawayFolder('atoll-torture-');
const compiled = await makeCompileFolder();

let ending = false;
/** Ends all processes, then removes what was made; of a run that failed logs and data stay. The first call counts. */
async function end(code: number, keep: boolean): Promise<void> {
  if (ending) return;
  ending = true;
  await endAll();
  await removeThrowawayFolder(compiled);
  if (!keep) await removeThrowawayFolder(root);
  process.exit(code);
}

process.on('exit', endAllNow);
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => void end(130, false));
run().then(
  (fine) => end(fine ? 0 : 1, !fine || values.keep),
  (error: unknown) => {
    if (ending) return undefined; // Its processes were ended under it.
    const why = error instanceof Error ? error.stack : String(error);
    process.stdout.write(`torture failed: ${why}\nlogs are in ${root}\n`);
    return end(1, true);
  },
);
