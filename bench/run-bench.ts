/**
 * Runs the chosen scenarios: PostgreSQL once, an engine and a database for each scenario, rounds on them.
 *
 * Place: bench/main.ts calls it; progress goes to standard error, so that the table can be piped.
 *
 * Invariants
 *  1. A scenario that fails is told and counted, and the others run.
 */
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  agreement,
  copyThinBench,
  pairOf,
  runThinBench,
  type Measured,
  type Pair,
} from './against.ts';
import { DatabaseMeter } from './measure/database-meter.ts';
import { Meter } from './measure/meter.ts';
import type { BenchOptions } from './options.ts';
import { figureOf, type FigureName } from './report/figures.ts';
import { objectionsTo, outsideCoresOf, resultsOf, type Result } from './report/result.ts';
import { short } from './report/table.ts';
import type { Round, Scenario } from './scenarios/scenario.ts';
import { Stage } from './scenarios/stage.ts';
import { warmUp } from './scenarios/warm-up.ts';
import { dropDatabase, settleDatabase } from './server/database.ts';
import { Engine } from './server/engine.ts';
import { portOr } from './server/free-port.ts';
import { startPostgres, type BenchPostgres } from './server/postgres.ts';

export type ScenarioResult = {
  readonly name: string;
  readonly rounds: readonly Round[];
  readonly results: readonly Result[];
  /** Lines of the comparison with thin-bench, where there was one. */
  readonly agreement: readonly string[];
  readonly pairs: readonly Pair[];
  readonly failure: string | undefined;
};

export type BenchResult = {
  readonly postgres: string;
  readonly scenarios: readonly ScenarioResult[];
};

/** What all scenarios share. */
type Bench = {
  readonly options: BenchOptions;
  readonly cli: string;
  readonly folder: string;
  readonly postgres: BenchPostgres;
  readonly database: DatabaseMeter;
  /** The copy of thin-bench that runs, if any. */
  readonly thinBench: string | undefined;
};

/** @param folder of this run alone, which others may enter */
export async function runBench(
  options: BenchOptions,
  where: { readonly cli: string; readonly folder: string },
): Promise<BenchResult> {
  const { folder } = where;
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  const thinBench =
    options.against === undefined ? undefined : copyThinBench(options.against, folder);
  const postgres = await startPostgres(folder, await portOr(options.postgresPort));
  const database = await DatabaseMeter.open(postgres.url('postgres'));
  say(`${postgres.what}, in ${folder}`);
  if (postgres.inMemory) say('That folder lies in memory: fsync costs nothing, use --data FOLDER.');
  if (!database.hasStatements) say('pg_stat_statements is not there: statements are not counted.');
  const bench = { ...where, options, postgres, database, thinBench };
  const scenarios: ScenarioResult[] = [];
  for (const scenario of options.scenarios) scenarios.push(await runScenario(bench, scenario));
  await database.close();
  await postgres.stop();
  return { postgres: postgres.what, scenarios };
}

async function runScenario(bench: Bench, scenario: Scenario): Promise<ScenarioResult> {
  const { options, postgres, cli, folder } = bench;
  const { name, mostRounds = options.rounds } = scenario;
  const databaseName = `bench_${name.replaceAll('-', '_')}`;
  const databaseUrl = postgres.url(databaseName);
  const wanted = Math.min(options.rounds, mostRounds);
  const rounds: Round[] = [];
  const pairs: Pair[] = [];
  let failure: string | undefined;
  let engine: Engine | undefined;
  try {
    const { port } = options;
    engine = await Engine.start({ cli, folder: join(folder, name), databaseUrl, port });
    for (let number = 1; number <= wanted; number += 1) {
      const stage = stageOf(bench, engine, `bench-${name}-${number}`);
      if (number === 1) await warmUp(stage).finally(() => stage.clear());
      const turn = { scenario, stage, databaseUrl };
      // The two tools take turns in going first, so that neither has the younger database every time.
      const early = number % 2 === 0 ? await playThinBench(bench, turn) : undefined;
      await settleDatabase(databaseUrl);
      const round = await scenario.run(stage).finally(() => stage.clear());
      rounds.push(round);
      say(`${name} ${number}/${wanted}: ${inWords(round)}`);
      const theirs = early ?? (await playThinBench(bench, turn));
      if (theirs !== undefined) pairs.push(pairOf(round, theirs));
    }
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
    say(`${name} failed: ${failure}`);
  }
  await engine?.stop();
  await dropDatabase(postgres.url('postgres'), databaseName);
  const lines = pairs.length === 0 ? [] : agreement(name, pairs);
  return { name, rounds, results: resultsOf(rounds), agreement: lines, pairs, failure };
}

/** The same load by thin-bench; undefined where it is not asked for, or does not have it. */
async function playThinBench(
  bench: Bench,
  turn: {
    readonly scenario: Scenario;
    readonly stage: Stage;
    readonly databaseUrl: string;
  },
): Promise<Measured | undefined> {
  const { scenario, stage, databaseUrl } = turn;
  const { elsewhere: args, name } = scenario;
  if (bench.thinBench === undefined || args === undefined) return undefined;
  await settleDatabase(databaseUrl);
  const theirs = await runThinBench(stage, { folder: bench.thinBench, args }, bench.postgres);
  const told = Object.entries(theirs).map(([what, value]) => `${what} ${short(value)}`);
  say(`${name} by thin-bench: ${told.join(', ')}`);
  return theirs;
}

function stageOf(bench: Bench, engine: Engine, taskQueue: string): Stage {
  const meter = new Meter(bench.database);
  meter.watch('router', () => engine.routerPid);
  meter.watch('cell', () => engine.cellPid);
  meter.watch('postgres', bench.postgres.pid);
  const { seconds, warmupSeconds, openRuns } = bench.options;
  return new Stage({ engine, meter, taskQueue, settings: { seconds, warmupSeconds, openRuns } });
}

function inWords(round: Round): string {
  const figures = Object.entries(round.figures).map(([name, value]) => {
    const { unit } = figureOf(name as FigureName);
    return `${name.slice(name.indexOf('.') + 1)} ${short(value)} ${unit}`.trim();
  });
  const outside = `others ${short(outsideCoresOf(round))} cores`;
  const objections = objectionsTo(round);
  const verdict = objections.length > 0 ? `; does not count: ${objections.join('; ')}` : '';
  return `${[...figures, outside].join(', ')}${verdict}`;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
