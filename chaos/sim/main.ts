/**
 * `npm run sim`: runs simulated worlds and judges them.
 *
 *   --seeds N   how many seeds (200), beside those that once showed a bug     --from N   the first of them (1)
 *   --seed X    one seed, with its whole trace
 *   --only      without the seeds that once showed a bug
 *   --fleet     two cells with a fleet map, lanes, moves and failovers, instead of one
 *   --jobs N    processes that share the work (1)
 *   --mutants   the mutants instead: each must be caught, by its recorded seed or one of many, or one of --fresh K;
 *               names behind it choose, --record writes down the seeds that caught
 */
import { parseArgs } from 'node:util';
import { replay, runCampaign } from './campaign.ts';
import { runMutants } from './mutants.ts';
import { FLEET, ONE_CELL } from './world-kind.ts';

const { values, positionals } = parseArgs({
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
  const jobs = Number(values.jobs);
  if (values.seed !== undefined) return replay(kind, Number(values.seed), print);
  if (values.mutants) {
    const fresh = values.fresh === undefined ? undefined : Number(values.fresh);
    return runMutants({ fresh, only: positionals, record: values.record, jobs, print });
  }
  return runCampaign(kind, {
    from: Number(values.from),
    seeds: Number(values.seeds),
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
