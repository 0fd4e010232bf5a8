/**
 * The read barrier of a host (PROTOCOLS 4, P13): proof that a shard is still owned here, from a look at the store that
 * began after the asker asked. Askers of all shards share one statement; those who come while it runs share the next.
 *
 * Invariants
 *  1. The look begins after the asker asked.
 *  2. Every asker is answered: with the proof, or with an error at the statement's deadline at the latest.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import type { Claim, SessionId, ShardLog, Verdict } from '../../storage/shard-log.ts';
import { bounded } from '../bounded.ts';

export interface Provable {
  /** What the owner believes now. */
  claim(): Claim;
  /** Called when the store disagrees. */
  disproved(verdict: Exclude<Verdict, { kind: 'mine' }>): AtollError;
  verified(session: SessionId): void;
}

type Asker = {
  readonly owner: Provable;
  readonly resolve: () => void;
  readonly reject: (e: AtollError) => void;
};

export class ReadBarrier {
  readonly #log: ShardLog;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  #askers: Asker[] = [];
  #running = false;

  constructor(log: ShardLog, clock: Clock, deadlineMs: number) {
    this.#log = log;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** Resolves with the proof, or rejects: `unavailable` when the shard is lost or the store does not answer. */
  prove(owner: Provable): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#askers.push({ owner, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      queueMicrotask(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    while (this.#askers.length > 0) {
      const askers = this.#askers;
      this.#askers = [];
      await this.#ask(askers);
    }
    this.#running = false;
  }

  async #ask(askers: readonly Asker[]): Promise<void> {
    const owners = [...new Set(askers.map((asker) => asker.owner))];
    const outcome = new Map<Provable, AtollError | undefined>();
    try {
      const claims = owners.map((owner) => owner.claim());
      const { session, verdicts } = await bounded(this.#clock, this.#deadlineMs, (signal) =>
        this.#log.verify(claims, signal),
      );
      owners.forEach((owner, i) => outcome.set(owner, settle(owner, verdicts[i], session)));
    } catch (cause) {
      for (const owner of owners) outcome.set(owner, unconfirmed(cause));
    }
    for (const { owner, resolve, reject } of askers) {
      const error = outcome.get(owner);
      if (error) reject(error);
      else resolve();
    }
  }
}

function settle(
  owner: Provable,
  verdict: Verdict | undefined,
  session: SessionId,
): AtollError | undefined {
  if (!verdict) return unconfirmed('the store gave no verdict');
  if (verdict.kind !== 'mine') return owner.disproved(verdict);
  owner.verified(session);
  return undefined;
}

function unconfirmed(cause: unknown): AtollError {
  return new AtollError('unavailable', 'the store did not confirm ownership; try again', { cause });
}
