/**
 * Digests of runs as a shard has them (PROTOCOLS 10): of what memory holds, or, recomputed, of all that is stored.
 *
 * Invariants
 *  1. What cannot be read has a digest all the same, one that equals no other: damage of one run is told, and fails nothing.
 *  2. "Nothing there" is proven current (PROTOCOLS 4), and so is "the store lost it".
 *  3. A run of which the store has lost rows is not forgotten by looking at it: memory may have the last copy.
 */
import { orAbort } from '../../../kernel/deadline.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { isDamage } from '../damage.ts';
import type { RunRef } from '../engine.ts';
import type { Ownership } from '../ownership.ts';
import { UNREADABLE, UNSTORED, type RunDigest } from './replicas.ts';
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
    if (how.recompute) {
      const lost = await this.#lost(ownership, ref, how.signal);
      if (lost) return lost;
      // What memory holds only to be quick is read again from the store: damage shows there.
      ownership.memory.forget(ref);
    }
    const found = await orDamage(() => this.#source.read(ownership, ref, how.signal));
    if (found === UNREADABLE) return without(ref, UNREADABLE);
    if (!found) return this.#absent(ownership, ref, how);
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

  /** What is to be said of a run that memory holds, and the store should and does not. */
  async #lost(
    ownership: Ownership,
    ref: RunRef,
    signal: AbortSignal,
  ): Promise<RunDigest | undefined> {
    const { memory, log } = ownership;
    if (!(await orAbort(memory.lacksRows(ref), signal))) return undefined;
    await orDamage(() => memory.loadRun(ref));
    await orAbort(log.prove(), signal);
    const { transition, epoch } = memory.peekRun(ref)?.committed ?? { transition: 0, epoch: 0 };
    return { ...without(ref, UNSTORED), transition, epoch };
  }

  async #absent(
    ownership: Ownership,
    ref: RunRef,
    { recompute, signal }: How,
  ): Promise<RunDigest | undefined> {
    // Only there: a copy asks for many runs that are not here yet.
    const isDamaged = recompute && (await orDamage(() => isWithoutId(ownership, ref)));
    await orAbort(ownership.log.prove(), signal);
    return isDamaged === false ? undefined : without(ref, UNREADABLE);
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

/** Whether there is a run whose workflow id has no row: both are written at once, so that row was lost. */
export async function isWithoutId({ memory }: Ownership, ref: RunRef): Promise<boolean> {
  // In this order: a run that is started meanwhile has its workflow id.
  return (await memory.loadRun(ref)) && !(await memory.loadExecution(ref));
}

async function orDamage<T>(read: () => T | Promise<T>): Promise<T | typeof UNREADABLE> {
  try {
    return await read();
  } catch (thrown) {
    if (!isDamage(thrown)) throw thrown;
    return UNREADABLE;
  }
}

/** A digest without a hash, for this reason. */
function without({ namespaceId, workflowId, runId }: RunRef, reason: string): RunDigest {
  const parts = { history: reason, state: reason, execution: reason };
  return { namespaceId, workflowId, runId, transition: 0, epoch: 0, ...parts };
}
