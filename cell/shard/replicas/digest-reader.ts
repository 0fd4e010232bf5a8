/**
 * Digests of runs as a shard has them (PROTOCOLS 10): of what memory holds, or, recomputed, of all that is stored.
 *
 * Invariants
 *  1. What cannot be read has a digest all the same, one that equals no other: damage of one run is told, and fails nothing.
 *  2. "Nothing there" is proven current (PROTOCOLS 4).
 */
import { orAbort } from '../../../kernel/deadline.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { isDamage } from '../damage.ts';
import type { RunRef } from '../engine.ts';
import type { Ownership } from '../ownership.ts';
import { UNREADABLE, type RunDigest } from './replicas.ts';
import { chained, executionHash, NO_EVENTS, stateHash } from '../runs/run-digest.ts';
import type { RunSource, WholeRun } from '../runs/run-source.ts';

type How = { readonly recompute: boolean; readonly signal: AbortSignal };

export class DigestReader {
  readonly #source: RunSource;

  constructor(source: RunSource) {
    this.#source = source;
  }

  /** Undefined: there is no such run. */
  async read(ownership: Ownership, ref: RunRef, how: How): Promise<RunDigest | undefined> {
    // What memory holds only to be quick is read again from the store: damage shows there.
    if (how.recompute) ownership.memory.forget(ref);
    const found = await orDamage(() => this.#source.read(ownership, ref, how.signal));
    if (found === UNREADABLE) return unreadable(ref);
    if (!found) {
      await orAbort(ownership.log.prove(), how.signal);
      return undefined;
    }
    const { state, current, ledger } = found;
    return {
      ...ref,
      transition: state.transition,
      epoch: state.epoch,
      history: await orDamage(() => this.#chain(ownership, found, how)),
      state: await orDamage(() => stateHash(state)),
      execution: await orDamage(() => executionHash(current, ledger)),
    };
  }

  /** The chain up to the state's last event, from where it was computed last. */
  async #chain(ownership: Ownership, whole: WholeRun, how: How): Promise<string> {
    const { state, historyId } = whole;
    const cached = how.recompute ? undefined : ownership.memory.peekRun(state)?.chain;
    const last = state.nextEventId - 1;
    const usable = cached?.historyId === historyId && cached.chain.lastEventId <= last;
    const from = usable ? cached.chain : NO_EVENTS;
    const events = await this.#source.events(ownership, whole, from.lastEventId, how.signal);
    const chain = events.reduce((sum, chunk) => chained(sum, chunk), from);
    if (chain.lastEventId !== last) {
      throw new AtollError('data-loss', `history of run ${state.runId} lacks event ${last}`);
    }
    const run = ownership.memory.peekRun(state);
    if (run) run.chain = { historyId, chain };
    return chain.hash.toString('hex');
  }
}

/** Whether what is here of a run is still what was accused. */
export function isSameDigest(here: RunDigest | undefined, accused: RunDigest | undefined): boolean {
  if (!here || !accused) return here === accused;
  return (
    here.transition === accused.transition &&
    here.epoch === accused.epoch &&
    here.history === accused.history &&
    here.state === accused.state &&
    here.execution === accused.execution
  );
}

async function orDamage<T>(read: () => T | Promise<T>): Promise<T | typeof UNREADABLE> {
  try {
    return await read();
  } catch (thrown) {
    if (!isDamage(thrown)) throw thrown;
    return UNREADABLE;
  }
}

function unreadable({ namespaceId, workflowId, runId }: RunRef): RunDigest {
  const parts = { history: UNREADABLE, state: UNREADABLE, execution: UNREADABLE };
  return { namespaceId, workflowId, runId, transition: 0, epoch: 0, ...parts };
}
