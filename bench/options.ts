/** The flags of `npm run bench`, read and checked in one place. */
import { parseArgs } from 'node:util';
import type { Scenario } from './scenarios/scenario.ts';
import type { Settings } from './scenarios/stage.ts';

export type BenchOptions = Settings & {
  readonly scenarios: readonly Scenario[];
  readonly rounds: number;
  /** File for everything that was seen. */
  readonly json: string | undefined;
  /** Folder of thin-bench, to be compared with. */
  readonly against: string | undefined;
  /** The built command; the one of this checkout if undefined. */
  readonly engine: string | undefined;
  /** Where the database is made; a temporary folder if undefined. */
  readonly data: string | undefined;
  readonly port: number;
  readonly postgresPort: number;
};

/** What the arguments ask for. */
export type Asked =
  | { readonly kind: 'run'; readonly options: BenchOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly reason: string };

const FLAGS = {
  only: { type: 'string' },
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '20' },
  warmup: { type: 'string', default: '5' },
  'open-runs': { type: 'string', default: '20000' },
  json: { type: 'string' },
  against: { type: 'string' },
  engine: { type: 'string' },
  data: { type: 'string' },
  port: { type: 'string', default: '0' },
  'postgres-port': { type: 'string', default: '0' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Reads the arguments behind `npm run bench --`. */
export function readOptions(args: readonly string[], known: readonly Scenario[]): Asked {
  try {
    const { values } = parseArgs({ args: [...args], options: FLAGS });
    if (values.help) return { kind: 'help' };
    const { json, against, engine, data } = values;
    return {
      kind: 'run',
      options: {
        scenarios: chosen(values.only, known),
        rounds: numberOf('--rounds', values.rounds, { least: 1, most: 100, whole: true }),
        seconds: numberOf('--seconds', values.seconds, { least: 1, most: 3_600 }),
        warmupSeconds: numberOf('--warmup', values.warmup, { least: 0, most: 3_600 }),
        openRuns: numberOf('--open-runs', values['open-runs'], {
          least: 1,
          most: 1_000_000,
          whole: true,
        }),
        port: portOf('--port', values.port),
        postgresPort: portOf('--postgres-port', values['postgres-port']),
        ...{ json, against, engine, data },
      },
    };
  } catch (error) {
    return { kind: 'wrong', reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The text of `--help`. */
export function helpText(known: readonly Scenario[]): string {
  const width = Math.max(...known.map(({ name }) => name.length));
  return `npm run bench -- [flags]

Starts a router, a cell and PostgreSQL, each a process of its own, and measures them with a thin worker and a load
generator. What the figures mean: docs/benchmarks.md.

  --only NAME,..       only these scenarios
  --rounds N           rounds of each, of which the medians count (3)
  --seconds N          length of a window (20)
  --warmup N           seconds of load before it (5)
  --open-runs N        runs that the memory scenario opens (20000)
  --json FILE          everything that was seen, as JSON
  --against FOLDER     run thin-bench (FOLDER/bench.mjs) and this bench by turns, and print where they differ
  --engine FILE        another built command than dist/bin/atoll.js
  --data FOLDER        where the database is made: a disk, not memory (a temporary folder)
  --port N             port of the router; the cell takes the next one (free ones)
  --postgres-port N    port of PostgreSQL (a free one)
  --help

Environment: PGBIN, a folder with initdb and postgres.

Scenarios:
${known.map(({ name, meaning }) => `  ${name.padEnd(width)}  ${meaning}`).join('\n')}
`;
}

function chosen(only: string | undefined, known: readonly Scenario[]): readonly Scenario[] {
  if (only === undefined) return known;
  return only.split(',').map((text) => {
    const scenario = known.find(({ name }) => name === text.trim());
    if (scenario !== undefined) return scenario;
    const names = known.map(({ name }) => name).join(', ');
    throw new Error(`--only ${text}: there is no such scenario (there are ${names})`);
  });
}

function portOf(flag: string, text: string): number {
  return numberOf(flag, text, { least: 0, most: 65_534, whole: true });
}

function numberOf(
  flag: string,
  text: string,
  range: { readonly least: number; readonly most: number; readonly whole?: boolean },
): number {
  const { least, most, whole = false } = range;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  const fits = value >= least && value <= most && (!whole || Number.isInteger(value));
  if (fits) return value;
  throw new Error(`${flag} ${text}: a ${whole ? 'whole ' : ''}number from ${least} to ${most}`);
}
