/**
 * Mends what a comparison found wrong in a replica (PROTOCOLS 10): puts the acting cell's image in the place of a run,
 * whatever is there and whether it can be read or not; removes a run that the acting cell does not have.
 *
 * Place: shard-replicas.ts has held what is stored here against the digest that was accused.
 *
 * Invariants
 *  1. A cell that acts for the namespace mends nothing: its state is what the others are held against.
 *  2. A run is not removed, nor a branch that lost replaced, while a lane may still have to tell the acting cell of it
 *     (PROTOCOLS 9).
 *  3. Nothing of what was there is trusted: another history id, the whole ledger, the pointer.
 */
import { orAbort } from '../../../kernel/deadline.ts';
import type { Rng } from '../../../kernel/rng.ts';
import { standingOfBranch } from '../../history/lineage.ts';
import { isDamage } from '../damage.ts';
import type { RunRef } from '../engine.ts';
import type { Ownership } from '../ownership.ts';
import type { Adoption, Removal } from '../log/record-codec.ts';
import { stillToBeSent } from '../refusals.ts';
import type { Here } from './replicated-run.ts';
import {
  UNREADABLE,
  UNSTORED,
  type ApplyOutcome,
  type LaneFeed,
  type RunDigest,
  type RunImage,
} from './replicas.ts';
import { chained, NO_EVENTS, stateHash } from '../runs/run-digest.ts';

type Damaged = Here & { readonly executionIsUnreadable: boolean };

export class ReplicaRepair {
  readonly #ownership: Ownership;
  readonly #rng: Rng;
  readonly #lanes: LaneFeed;

  constructor(ownership: Ownership, parts: { readonly rng: Rng; readonly lanes: LaneFeed }) {
    this.#ownership = ownership;
    this.#rng = parts.rng;
    this.#lanes = parts.lanes;
  }

  /**
   * Errors: `unavailable` while the acting cell is still to hear of a branch that is here.
   * @param accused what is here as it was read a moment ago; undefined: nothing
   */
  async replace(
    image: RunImage,
    accused: RunDigest | undefined,
    signal: AbortSignal,
  ): Promise<ApplyOutcome> {
    const { state } = image;
    const stored = await this.#ownership.memory.storedRequests(state);
    const here = await this.#here(state, signal);
    if (this.#isMoving(here, accused)) return { kind: 'known' };
    this.#assertToldOf(here, image);
    if (goesOnLater(here, image)) return { kind: 'known' };
    if (accused?.state === UNSTORED) countsAsUnsaved(here);
    const known = (here.execution?.ledger.entries() ?? []).map(({ requestId }) => requestId);
    const adoption: Adoption = {
      state,
      historyId: this.#rng.uuid(),
      firstEventId: 1,
      events: Buffer.concat(image.events),
      current: image.current,
      ledger: image.ledger,
      forgotten: [...new Set([...stored, ...known])],
    };
    await orAbort(this.#ownership.append({ adoption }).committed, signal);
    return { kind: 'applied' };
  }

  /** Errors: `unavailable` while the acting cell is still to hear of the run. */
  async remove(accused: RunDigest, signal: AbortSignal): Promise<ApplyOutcome> {
    const { namespaceId, workflowId, runId } = accused;
    const here = await this.#here(accused, signal);
    if (this.#isMoving(here, accused)) return { kind: 'known' };
    const { run, execution, executionIsUnreadable } = here;
    const seq = run?.committedSeq ?? this.#ownership.log.committed;
    if (this.#lanes.delivery(this.#ownership.shard, { namespaceId, runId, seq }) !== 'done') {
      throw stillToBeSent(accused);
    }
    const { historyId = runId, lost = [] } = run?.branch ?? {};
    const removal: Removal = {
      namespaceId,
      workflowId,
      runId,
      historyIds: [historyId, ...lost.map((branch) => branch.historyId)],
      execution: execution?.current.runId === runId || executionIsUnreadable,
    };
    await orAbort(this.#ownership.append({ removal }).committed, signal);
    return { kind: 'applied' };
  }

  /** What the image does not hold of ours is not forgotten before the acting cell has heard of it. */
  #assertToldOf({ run }: Here, { state }: RunImage): void {
    if (!run || standingOfBranch(state.lineage, run.head.lineage).kind === 'known') return;
    const { namespaceId, runId } = state;
    const upTo = { namespaceId, runId, seq: run.committedSeq };
    if (this.#lanes.delivery(this.#ownership.shard, upTo) !== 'done') throw stillToBeSent(state);
  }

  /** Something came meanwhile, or this cell acts: not what was accused any more. */
  #isMoving({ run, execution }: Here, accused: RunDigest | undefined): boolean {
    if (run?.pending || execution?.pending) return true;
    const ref = run?.ref ?? accused;
    if (ref && this.#ownership.standing.drives(ref.namespaceId)) return true;
    if (!run || !accused || accused.state === UNREADABLE) return false;
    return run.head.transition !== accused.transition || run.head.epoch !== accused.epoch;
  }

  /** What can be read of the run and its workflow id, looked at in the turn in which it is used. */
  async #here(ref: RunRef, signal: AbortSignal): Promise<Damaged> {
    const { memory, log } = this.#ownership;
    await log.admit(signal);
    const [execution, run] = await Promise.all([
      memory.loadExecution(ref).catch(orUnreadable),
      memory.loadRun(ref).catch(orUnreadable),
    ]);
    log.assertRoom();
    return {
      execution: execution === true ? memory.peekExecution(ref) : undefined,
      run: run === true ? memory.peekRun(ref) : undefined,
      executionIsUnreadable: execution === 'unreadable',
    };
  }
}

/** All of it comes again: rows of its work, too, are to be written anew, and memory has the last copy no longer. */
function countsAsUnsaved({ run, execution }: Here): void {
  if (run) [run.storedWork, run.unstored] = [new Map(), false];
  if (execution) execution.unstored = false;
}

/** The acting cell has heard of a branch that wins against the image: that was taken before. */
function goesOnLater({ run }: Here, { state }: RunImage): boolean {
  return run !== undefined && run.head.epoch > state.epoch;
}

function orUnreadable(thrown: unknown): 'unreadable' {
  if (!isDamage(thrown)) throw thrown;
  return 'unreadable';
}

/**
 * Whether what is stored here ends where the image does, and differs all the same; or cannot be read, or is lost. Pointer and
 * ledger go on with other runs of the workflow id, and the image may be late: of them a comparison judges, which looks at both.
 */
export function isDamagedBeside(here: RunDigest | undefined, image: RunImage): boolean {
  const { state, events } = image;
  if (here?.state === UNREADABLE || here?.state === UNSTORED) return true;
  if (here?.transition !== state.transition || here.epoch !== state.epoch) return false;
  const chain = events.reduce((sum, chunk) => chained(sum, chunk), NO_EVENTS);
  return here.history !== chain.hash.toString('hex') || here.state !== stateHash(state);
}
