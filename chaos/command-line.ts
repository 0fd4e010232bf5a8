/**
 * The command lines of `npm run sim`, `torture` and `gameday`: `--help`, and mistakes told before anything is started.
 */
import { parseArgs, type ParseArgsConfig } from 'node:util';

const WRONG_USE = 2;

/** What the command line says. `--help` and a flag that is not known end the process here. */
export function readCommandLine<const Config extends ParseArgsConfig>(
  usage: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  if (process.argv.slice(2).includes('--help')) {
    process.stdout.write(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), usage);
  }
}

/** A flag's value that counts something: a whole number, `least` or more. Anything else ends the process. */
export function countOf(flag: string, value: string, least = 0): number {
  const count = value.trim() === '' ? Number.NaN : Number(value);
  if (Number.isSafeInteger(count) && count >= least) return count;
  return refuse(`--${flag} ${value}: a whole number, ${least} or more`);
}

/** A regular expression. Anything else ends the process. */
export function patternOf(flag: string, value: string): RegExp {
  try {
    return new RegExp(value);
  } catch (error) {
    return refuse(`--${flag} ${value}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Ends the process over a command line that cannot be meant. */
export function refuse(reason: string, usage = ''): never {
  process.stderr.write(`${reason}\n${usage === '' ? '' : `\n${usage}`}`);
  process.exit(WRONG_USE);
}
