/** `npm run sim`: runs simulated worlds and judges them; `--help` says how. */
import { countOf, readCommandLine } from '../command-line.ts';
import { replay, runCampaign } from './campaign.ts';
import { runMutants } from './mutants.ts';
import { FLEET, ONE_CELL } from './world-kind.ts';

const USAGE = `npm run sim -- [flags]

Runs simulated worlds, one a seed, and judges them.

  --seeds N            how many seeds (200), beside those that once showed a bug
  --from N             the first of them (1)
  --seed N             one seed, with its whole trace
  --only               without the seeds that once showed a bug
  --fleet              two cells with a fleet map, lanes, moves and failovers, instead of one
  --jobs N             processes that share the work (1)
  --stop-at-failure    no further seed after the first that fails
  --stop-at-promise    the same, of seeds that break a promise
  --mutants [NAME ..]  the mutants instead: each must be caught, by its recorded seed
  --fresh N            or by one of so many other seeds
  --record             writes down the seeds that caught
  --help
`;
const { values, positionals } = readCommandLine(USAGE, {
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    only: { type: 'boolean', default: false },
    fleet: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '1' },
    mutants: { type: 'boolean', default: false },
    fresh: { type: 'string' },
    record: { type: 'boolean', default: false },
    'stop-at-failure': { type: 'boolean', default: false },
    'stop-at-promise': { type: 'boolean', default: false },
  },
});

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<boolean> {
  const kind = values.fleet ? FLEET : ONE_CELL;
  const jobs = countOf('jobs', values.jobs, 1);
  if (values.seed !== undefined) return replay(kind, countOf('seed', values.seed), print);
  if (values.mutants) {
    const fresh = values.fresh === undefined ? undefined : countOf('fresh', values.fresh);
    return runMutants({ fresh, only: positionals, record: values.record, jobs, print });
  }
  return runCampaign(kind, {
    from: countOf('from', values.from),
    seeds: countOf('seeds', values.seeds, 1),
    known: !values.only,
    jobs,
    stopAt: values['stop-at-promise']
      ? 'promise'
      : values['stop-at-failure']
        ? 'failure'
        : undefined,
    print,
  });
}

process.exitCode = (await main()) ? 0 : 1;
