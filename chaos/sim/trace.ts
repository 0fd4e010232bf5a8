/**
 * What happened in a world, line by line: hashed as a whole, the last lines kept for a failure's report.
 *
 * Invariant: the hash depends on every line, so two runs of a seed with the same hash did the same.
 */
import { createHash } from 'node:crypto';
import type { Log } from '../../kernel/log.ts';
import type { WorldTime } from './world-time.ts';

const KEPT_LINES = 4_000;

export class Trace {
  readonly #time: WorldTime;
  readonly #tell: ((line: string) => void) | undefined;
  readonly #hash = createHash('sha256');
  #lines: string[] = [];

  /** @param tell hears every line at once: for `--seed` */
  constructor(time: WorldTime, tell?: (line: string) => void) {
    this.#time = time;
    this.#tell = tell;
  }

  note(line: string): void {
    const stamped = `${this.#time.monotonicMs().toFixed(1).padStart(9)} ${line}`;
    this.#hash.update(stamped);
    this.#tell?.(stamped);
    this.#lines.push(stamped);
    if (this.#lines.length > 2 * KEPT_LINES) this.#lines = this.#lines.slice(-KEPT_LINES);
  }

  /** The hash of all lines. Call it once, at the end. */
  digest(): string {
    return this.#hash.digest('hex');
  }

  /** The last lines that name one of these words, oldest first. */
  about(words: readonly string[], count: number): readonly string[] {
    const named = this.#lines.filter((line) => words.some((word) => line.includes(word)));
    return named.slice(-count);
  }

  /** A logger whose warnings and errors become lines. */
  log(who: string): Log {
    const say = (level: string) => (fields: object, message: string) => {
      const { err } = fields as { readonly err?: unknown };
      const why = err instanceof Error ? ` (${err.message})` : '';
      const { shard } = fields as { readonly shard?: number };
      const where = shard === undefined ? '' : ` shard ${shard}:`;
      this.note(`${who} ${level}:${where} ${message}${why}`);
    };
    const log: Log = {
      debug: () => {},
      info: say('info'),
      warn: say('warn'),
      error: say('error'),
      child: () => log,
    };
    return log;
  }
}
