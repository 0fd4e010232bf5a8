/**
 * The real log: pino's JSON lines, or readable ones where a person watches a terminal.
 *
 * Place: named by composition roots only; everything else takes a `Log`. The one door of pino and pino-pretty.
 *
 * Invariants
 *  1. A line is written before the call returns: what was logged before a crash is there after it.
 *  2. Errors are logged under `err`, with stack, code and causes.
 */
import { pino, stdSerializers } from 'pino';
import pretty from 'pino-pretty';
import type { Log } from './log.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type PinoLogOptions = {
  readonly level: LogLevel;
  /** `auto` is `pretty` on a terminal and `json` elsewhere. */
  readonly format: 'auto' | 'json' | 'pretty';
  /** On every line: the role and the id of this process, such as `{ role: 'cell', cell: 'a' }`. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Standard output by default. */
  readonly to?: { write(line: string): unknown; readonly isTTY?: boolean };
};

/** Makes the root logger of a process. */
export function createPinoLog(options: PinoLogOptions): Log {
  const to = options.to ?? process.stdout;
  const isPretty = options.format === 'pretty' || (options.format === 'auto' && to.isTTY === true);
  const destination = isPretty
    ? { write: writePretty(to) }
    : { write: (line: string) => void to.write(line) };
  const settings = {
    level: options.level,
    base: options.fields ?? {},
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: stdSerializers.errWithCause },
  };
  return pino(settings, destination);
}

/** Line by line through pino-pretty's formatter, without its stream: nothing waits in a buffer. */
function writePretty(to: NonNullable<PinoLogOptions['to']>): (line: string) => void {
  const format = pretty.prettyFactory({
    colorize: to.isTTY === true,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname',
    singleLine: true,
  });
  return (line) => void to.write(format(line));
}
