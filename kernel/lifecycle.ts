/**
 * Starts parts in order and stops them in reverse, each within its own time.
 *
 * Place: composition roots hand their parts over here, so that Ctrl-C, a failed start and a test end alike.
 *
 * Invariants
 *  1. A part is started only after all before it have started, and stopped before them.
 *  2. Exactly the parts whose start was begun are stopped, once each, also when a start failed or was aborted.
 *  3. `stop` ends within the sum of the parts' stop times, whatever a part does.
 */
import type { Clock } from './clock.ts';
import { withDeadline } from './deadline.ts';
import { AtollError } from './errors.ts';
import { invariant } from './invariant.ts';
import type { Log } from './log.ts';

export type Part = {
  readonly name: string;
  /** Resolves when the part serves. Omit where the constructor was enough. */
  readonly start?: (signal: AbortSignal) => Promise<void>;
  /** Resolves when the part holds nothing any more. Called also after a start that failed half-way. */
  readonly stop?: (signal: AbortSignal) => Promise<void>;
  /** 30,000 by default. */
  readonly startTimeoutMs?: number;
  /** 2,000 by default. */
  readonly stopTimeoutMs?: number;
};

/** What became of a stop: a part that failed or was too slow is named, and the others are stopped all the same. */
export type StopOutcome =
  | { readonly kind: 'clean' }
  | {
      readonly kind: 'unclean';
      readonly parts: readonly { readonly name: string; readonly error: unknown }[];
    };

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 2_000;

export class Lifecycle {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #begun: Part[] = [];
  readonly #stopping = new AbortController();
  #stopped: Promise<StopOutcome> | undefined;

  constructor(ports: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = ports.clock;
    this.#log = ports.log;
  }

  /**
   * Starts one part after all earlier ones. When it fails, stop() is still the caller's to call.
   * @throws what the part threw, `deadline-exceeded` when it was too slow, `cancelled` once stop was called
   */
  async start(part: Part): Promise<void> {
    invariant(
      this.#begun.every((other) => other.name !== part.name),
      `two parts are named ${part.name}`,
    );
    this.#stopping.signal.throwIfAborted();
    this.#begun.push(part);
    if (part.start === undefined) return;
    const begunMs = this.#clock.monotonicMs();
    const options = {
      what: `the start of ${part.name}`,
      timeoutMs: part.startTimeoutMs ?? START_TIMEOUT_MS,
      parent: this.#stopping.signal,
    };
    await withDeadline(this.#clock, options, part.start);
    const tookMs = Math.round(this.#clock.monotonicMs() - begunMs);
    this.#log.debug({ part: part.name, tookMs }, 'started');
  }

  /** Stops all begun parts, last first; a second call waits for the first. Never throws. */
  stop(): Promise<StopOutcome> {
    this.#stopping.abort(new AtollError('cancelled', 'stopping'));
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #stopAll(): Promise<StopOutcome> {
    const parts: { name: string; error: unknown }[] = [];
    for (let part = this.#begun.pop(); part !== undefined; part = this.#begun.pop()) {
      if (part.stop === undefined) continue;
      const options = {
        what: `the stop of ${part.name}`,
        timeoutMs: part.stopTimeoutMs ?? STOP_TIMEOUT_MS,
      };
      try {
        await withDeadline(this.#clock, options, part.stop);
        this.#log.debug({ part: part.name }, 'stopped');
      } catch (error) {
        this.#log.warn({ part: part.name, err: error }, 'did not stop cleanly');
        parts.push({ name: part.name, error });
      }
    }
    return parts.length === 0 ? { kind: 'clean' } : { kind: 'unclean', parts };
  }
}
