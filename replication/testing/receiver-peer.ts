/** A peer that is a receiver in the same process, with faults on the way: what is lost, late or doubled is drawn by `fate`. */
import type { Clock } from '../../kernel/clock.ts';
import { sleep } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { RunRef } from '../../cell/shard/engine.ts';
import type { ApplyOutcome, RunDigest } from '../../cell/shard/replicas/replicas.ts';
import type { ImagePush, LaneBacklog, ReplicaPeer, RunsPage, StepPush } from '../peer.ts';
import type { Receiver } from '../receiver/receiver.ts';

export type Fate = {
  /** The request never arrives. */
  readonly lost: boolean;
  /** The request arrives, its answer does not. */
  readonly unheard: boolean;
  /** It arrives once more, so much later: behind younger ones. */
  readonly againAfterMs: number | undefined;
  readonly delayMs: number;
};

export const NO_FAULT: Fate = { lost: false, unheard: false, againAfterMs: undefined, delayMs: 1 };

export class ReceiverPeer implements ReplicaPeer {
  readonly #source: string;
  readonly #receiver: () => Receiver;
  readonly #clock: Clock;
  /** By method. */
  fate: (method: string) => Fate = () => NO_FAULT;
  /** Calls by method, for what a test wants to see. */
  readonly calls = new Map<string, number>();
  steps = 0;

  constructor(source: string, receiver: () => Receiver, clock: Clock) {
    this.#source = source;
    this.#receiver = receiver;
    this.#clock = clock;
  }

  pushSteps(push: StepPush, signal: AbortSignal): Promise<readonly ApplyOutcome[]> {
    this.steps += push.steps.length;
    return this.#carry('steps', signal, (s) => this.#receiver().steps(this.#source, push, s));
  }

  pushImages(push: ImagePush, signal: AbortSignal): Promise<readonly ApplyOutcome[]> {
    return this.#carry('images', signal, (s) => this.#receiver().images(this.#source, push, s));
  }

  digests(
    ask: { namespaceId: string; runs: readonly RunRef[]; recompute: boolean },
    signal: AbortSignal,
  ): Promise<readonly (RunDigest | undefined)[]> {
    return this.#carry('digests', signal, (s) => this.#receiver().digests(this.#source, ask, s));
  }

  remove(
    ask: { namespaceId: string; runs: readonly RunDigest[] },
    signal: AbortSignal,
  ): Promise<readonly ApplyOutcome[]> {
    return this.#carry('remove', signal, (s) => this.#receiver().remove(this.#source, ask, s));
  }

  runs(
    ask: { namespaceId: string; shard: number; after?: string | undefined; limit: number },
    signal: AbortSignal,
  ): Promise<RunsPage> {
    return this.#carry('runs', signal, (s) => this.#receiver().runs(this.#source, ask, s));
  }

  probe(backlogs: readonly LaneBacklog[], signal: AbortSignal): Promise<{ readonly now: number }> {
    return this.#carry('probe', signal, async () => this.#receiver().probe(this.#source, backlogs));
  }

  async #carry<Result>(
    method: string,
    signal: AbortSignal,
    call: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    const { lost, unheard, againAfterMs, delayMs } = this.fate(method);
    await sleep(this.#clock, delayMs, signal);
    if (lost) throw new AtollError('unavailable', 'the request was lost');
    if (againAfterMs !== undefined) {
      this.#clock.after(againAfterMs, () => void call(signal).catch(() => {}));
    }
    const result = await call(signal);
    if (unheard) throw new AtollError('unavailable', 'the answer was lost');
    return result;
  }
}
