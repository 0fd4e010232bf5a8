/**
 * `npm run bench`: measures a router, a cell and PostgreSQL, each a process of its own, and ends with a table.
 *
 * Place: the only file of bench/ that reads arguments and ends the process.
 *
 * Invariants
 *  1. Whatever happens, Ctrl-C included, no process of its own is left behind.
 *  2. Exit code 0 means that every scenario ran, not that an aim was met: the table says that.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopParties } from './load/party.ts';
import { helpText, readOptions, type BenchOptions } from './options.ts';
import { resultTable } from './report/table.ts';
import { runBench, type BenchResult } from './run-bench.ts';
import { SCENARIOS } from './scenarios/all.ts';
import { stopAll } from './server/leashed.ts';

const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;
const BUILT = fileURLToPath(new URL('../dist/bin/atoll.js', import.meta.url));

async function main(): Promise<number> {
  const asked = readOptions(process.argv.slice(2), SCENARIOS);
  switch (asked.kind) {
    case 'help':
      process.stdout.write(helpText(SCENARIOS));
      return EXIT.ok;
    case 'wrong':
      process.stderr.write(`${asked.reason}\nSee npm run bench -- --help.\n`);
      return EXIT.usage;
    case 'run':
      return measure(asked.options);
  }
}

async function measure(options: BenchOptions): Promise<number> {
  const cli = options.engine === undefined ? BUILT : resolve(options.engine);
  if (!existsSync(cli)) {
    process.stderr.write(`There is no ${cli}: run npm run build first.\n`);
    return EXIT.usage;
  }
  const folder = mkdtempSync(join(options.data ?? tmpdir(), 'atoll-bench-'));
  let interrupted = false;
  const end = async () => {
    await stopParties();
    await stopAll();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted) return;
      interrupted = true;
      process.stderr.write('stopping\n');
      void end().then(() => {
        rmSync(folder, { recursive: true, force: true });
        process.exit(EXIT.interrupted);
      });
    });
  }
  try {
    const result = await runBench(options, { cli, folder });
    report(result, options);
    const failed = result.scenarios.some(({ failure }) => failure !== undefined);
    if (failed) process.stderr.write(`What the processes said is in ${folder}.\n`);
    else rmSync(folder, { recursive: true, force: true });
    return failed ? EXIT.failed : EXIT.ok;
  } catch (error) {
    if (interrupted) return EXIT.interrupted;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.stderr.write(`What the processes said is in ${folder}.\n`);
    return EXIT.failed;
  } finally {
    await end();
  }
}

function report({ postgres, scenarios }: BenchResult, options: BenchOptions): void {
  const results = scenarios.flatMap((scenario) => scenario.results);
  const tables = [resultTable(results), ...scenarios.map(({ agreement }) => agreement)];
  for (const lines of tables) {
    if (lines.length > 0) process.stdout.write(`\n${lines.join('\n')}\n`);
  }
  if (options.json === undefined) return;
  const [processor] = cpus();
  const machine = {
    cores: cpus().length,
    processor: processor?.model,
    node: process.version,
    postgres,
  };
  const { rounds, seconds, warmupSeconds } = options;
  const text = JSON.stringify(
    { machine, settings: { rounds, seconds, warmupSeconds }, scenarios },
    null,
    2,
  );
  writeFileSync(options.json, `${text}\n`);
}

process.exitCode = await main();
