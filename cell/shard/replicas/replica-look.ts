/**
 * What a shard has of a run that another cell sent something of, and of its workflow id: looked at in the turn in which it is
 * decided on.
 *
 * Place: under replica-writer.ts.
 */
import type { RunState } from '../../history/state.ts';
import type { RunRef } from '../engine.ts';
import type { Ownership } from '../ownership.ts';
import { memoryShort } from '../refusals.ts';
import type { Here } from './replicated-run.ts';

/** Looks again at most so often while memory is short. */
const MOST_LOADS = 20;

export class ReplicaLook {
  readonly #ownership: Pick<Ownership, 'memory' | 'log' | 'shard'>;

  constructor(ownership: Pick<Ownership, 'memory' | 'log' | 'shard'>) {
    this.#ownership = ownership;
  }

  /** What is here of the run and its workflow id, if memory has both: to be used in the same turn. */
  atHand(ref: RunRef): Here | undefined {
    const { memory, log } = this.#ownership;
    log.assertRoom();
    const execution = memory.peekExecution(ref);
    const run = execution && memory.peekRun(ref);
    return run && { run, execution };
  }

  /**
   * The same, loaded if need be; `use` is called in the turn in which all of it was looked at.
   * Errors: `unavailable` when the shard is not owned any more, or its memory is short
   */
  async at<T>(
    { ref, pointed }: { readonly ref: RunRef; readonly pointed?: RunRef | undefined },
    signal: AbortSignal,
    use: (here: Here) => T | Promise<T>,
  ): Promise<T> {
    const { memory, log } = this.#ownership;
    await log.admit(signal);
    const missing = { execution: false, run: false, pointed: false };
    let other: RunState | undefined;
    for (let loads = 0; loads < MOST_LOADS; loads += 1) {
      log.assertRoom();
      const execution = memory.peekExecution(ref);
      const run = memory.peekRun(ref);
      other = (pointed && memory.peekRun(pointed)?.head) ?? other;
      if (!execution && !missing.execution) {
        missing.execution = !(await memory.loadExecution(ref));
      } else if (!run && !missing.run) {
        missing.run = !(await memory.loadRun(ref));
      } else if (pointed && !other && !missing.pointed) {
        missing.pointed = !(await memory.loadRun(pointed));
        // Looked at in this turn: memory may have no room for it in the next one.
        other = memory.peekRun(pointed)?.head;
      } else return use({ run, execution, pointed: other });
    }
    throw memoryShort(this.#ownership.shard);
  }
}
