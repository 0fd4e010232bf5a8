/**
 * `npm run sim`: runs simulated worlds and judges them.
 *
 *   --seeds N   how many seeds (200)      --from N   the first of them (1)
 *   --seed X    one seed, with its whole trace
 *   --fleet     two cells with a fleet map, lanes, moves and failovers, instead of one
 *   --mutants   the mutants instead: each must be caught, by its recorded seed or one of 2,000, or one of --fresh K;
 *               names behind it choose, --record writes down the seeds that caught
 */
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.ts';
import { replayFleet, runFleetCampaign } from './fleet/fleet-campaign.ts';
import { runMutants } from './mutants.ts';
import { World } from './world.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    fleet: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    fresh: { type: 'string' },
    record: { type: 'boolean', default: false },
    'stop-at-failure': { type: 'boolean', default: false },
  },
});

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function replay(seed: number): Promise<boolean> {
  const result = await new World(seed, print).run();
  for (const breach of result.breaches) print(`BROKEN ${breach}`);
  print(`trace ${result.traceHash}, ${result.events} events`);
  print(
    result.breaches.length === 0
      ? '1 passed, 0 failed, 0 skipped'
      : '0 passed, 1 failed, 0 skipped',
  );
  return result.breaches.length === 0;
}

async function main(): Promise<boolean> {
  if (values.seed !== undefined) {
    const seed = Number(values.seed);
    return values.fleet ? replayFleet(seed, print) : replay(seed);
  }
  if (values.mutants) {
    const fresh = values.fresh === undefined ? undefined : Number(values.fresh);
    return runMutants({ fresh, only: positionals, record: values.record, print });
  }
  return (values.fleet ? runFleetCampaign : runCampaign)({
    from: Number(values.from),
    seeds: Number(values.seeds),
    stopAtFailure: values['stop-at-failure'],
    print,
  });
}

process.exitCode = (await main()) ? 0 : 1;
