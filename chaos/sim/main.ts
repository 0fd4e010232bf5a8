/**
 * `npm run sim`: runs simulated worlds and judges them.
 *
 *   --seeds N   how many seeds (200)      --from N   the first of them (1)
 *   --seed X    one seed, with its whole trace
 *   --mutants   the mutants instead: each must be caught; with --fresh K from its recorded seed plus K fresh ones
 */
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.ts';
import { World } from './world.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    fresh: { type: 'string' },
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
  if (values.seed !== undefined) return replay(Number(values.seed));
  return runCampaign({
    from: Number(values.from),
    seeds: Number(values.seeds),
    stopAtFailure: values['stop-at-failure'],
    print,
  });
}

process.exitCode = (await main()) ? 0 : 1;
