/**
 * Inputs that no call brought: a due clock, a sticky worker that is gone. Sent into the run until they are taken.
 *
 * Invariants
 *  1. An input ends taken, obsolete, or with its run; a failing one is tried again with growing pauses (P11).
 *  2. After `obsolete` the run's work is armed again as its state names it: a clock may have moved.
 *  3. Before an activity's clock, heartbeats that nobody could send are granted one full interval (PROTOCOLS 2.5).
 */
import type { Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import { isActivityClockKey } from '../../history/activities/clocks.ts';
import type { Reply } from '../../history/decision.ts';
import type { RunInput } from '../../history/input.ts';
import type { CachedRun } from '../runs/cached.ts';
import type { CallContext, RunRef } from '../engine.ts';
import type { Found } from '../runs/shard-memory.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** What is asked of the ownership; its parts are described there. */
export interface AskedShard {
  readonly ended: AtollError | undefined;
  execute(ref: RunRef, input: RunInput, call: CallContext): Promise<{ readonly reply: Reply }>;
  at<T>(ref: RunRef, signal: AbortSignal, use: (found: Found) => T): Promise<T>;
  syncWork(run: CachedRun): number;
  readonly driver: {
    /** True if the run's state does not show the answer: it is to be synced. */
    answered(ref: RunRef, key: string): boolean;
  };
  forgetWork(ref: RunRef): void;
  readonly standing: {
    /** Whether the namespace's work is driven here. */
    drives(namespaceId: string): boolean;
  };
}

type Options = {
  readonly clock: Clock;
  readonly log: Log;
  readonly epochOf: (namespaceId: string) => number;
  /** When the ownership began: older heartbeat clocks get one full interval. */
  readonly beganAt: number;
};

export class DueInputs {
  readonly #owned: AskedShard;
  readonly #options: Options;
  readonly #promotedAt = new Map<string, number>();

  constructor(owned: AskedShard, options: Options) {
    this.#owned = owned;
    this.#options = options;
  }

  /** The namespace became active here: heartbeats of before went to another cell (D16). */
  promoted(namespaceId: string, at: number): void {
    this.#promotedAt.set(namespaceId, at);
  }

  /** Never rejects. */
  async send(ref: RunRef, input: RunInput, pause = FIRST_PAUSE_MS): Promise<void> {
    if (this.#owned.ended) return;
    // Closed, or active elsewhere: whoever drives the namespace next makes its work from the state (D5).
    if (!this.#owned.standing.drives(ref.namespaceId)) return this.#owned.forgetWork(ref);
    try {
      await this.#deliver(ref, input);
    } catch (error) {
      this.#failed(ref, input, { error, pause });
    }
  }

  async #deliver(ref: RunRef, input: RunInput): Promise<void> {
    const { signal } = new AbortController(); // Ends with the ownership, which tells all that wait.
    if (input.kind === 'timer-due' && isActivityClockKey(input.key)) {
      const sleptThrough = await this.#owned.at(ref, signal, ({ run }) => this.#sleptThrough(run));
      if (sleptThrough) await this.#ask(ref, { kind: 'grant-heartbeats' }, signal);
    }
    const { reply } = await this.#ask(ref, input, signal);
    const unseen = input.kind === 'timer-due' && this.#owned.driver.answered(ref, input.key);
    if (reply.kind !== 'obsolete' && !unseen) return; // Its commit has armed what follows.
    await this.#owned.at(ref, signal, ({ run }) => this.#owned.syncWork(run));
  }

  #ask(ref: RunRef, input: RunInput, signal: AbortSignal) {
    return this.#owned.execute(ref, input, {
      signal,
      epoch: this.#options.epochOf(ref.namespaceId),
    });
  }

  /** Whether a heartbeat clock of the run ran while nobody owned the shard. */
  #sleptThrough(run: CachedRun): boolean {
    if (run.granted) return false;
    const beganAt = this.#promotedAt.get(run.ref.namespaceId) ?? this.#options.beganAt;
    const slept = [...run.head.activities.values()].some(
      ({ started, lastHeartbeatAt }) =>
        started !== undefined && Math.max(started.at, lastHeartbeatAt ?? 0) < beganAt,
    );
    run.granted = !slept; // From here on every activity starts or beats in this ownership.
    return slept;
  }

  #failed(
    ref: RunRef,
    input: RunInput,
    failure: { readonly error: unknown; readonly pause: number },
  ): void {
    if (this.#owned.ended) return;
    const { error, pause } = failure;
    if (error instanceof AtollError && error.code === 'not-found') {
      this.#owned.forgetWork(ref);
      return;
    }
    const { workflowId, runId } = ref;
    this.#options.log.warn(
      { err: error, workflowId, runId, input: input.kind, pauseMs: pause },
      'a due input was not taken; it is tried again',
    );
    this.#options.clock.after(
      pause,
      () => void this.send(ref, input, Math.min(pause * 2, LONGEST_PAUSE_MS)),
    );
  }
}
