/**
 * What workers remember of runs, where a forced failover may have lost it (PROTOCOLS 9).
 *
 * A worker that caches a run takes, of a history that it is shown whole, what lies behind the last task that it completed
 * (sdk-core). Where that task is of a branch that lost, it passes over as many events of the branch that won: a signal there is
 * never seen by the workflow's code. All that makes a worker forget a run is that an answer of its is refused.
 *
 * Place: shard-host.ts asks before a completion is decided on.
 *
 * Invariants
 *  1. Of a run from before the failover a completion is taken from a worker that caches nothing, that the run is sticky to since, or
 *     that was refused once and so has replayed it.
 *  2. Until the cell that lost hears of it, it acts too, and gives out tasks. Where one of them was completed, all begins anew once
 *     that is heard here: whoever was refused before may have fallen back to the branch that lost.
 *  3. Only the answer to a task that was given out since the failover tells that its worker has forgotten the run: it waits for what
 *     is said to it.
 *  4. A worker is refused once a run as long as an owner of its shard remembers it. Beyond `LIMIT` runs nobody is refused: a backlog
 *     of more would be refused for ever, each run forgotten before its turn comes again.
 */
import { AtollError } from '../../../kernel/errors.ts';
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { RunInput } from '../../history/input.ts';
import type { RunState } from '../../history/state.ts';
import type { CallContext, RunRef } from '../engine.ts';
import type { Ownership } from '../ownership.ts';

type Completion = Extract<RunInput, { kind: 'complete-workflow-task' }>;

const LIMIT = 100_000;

/** What is known of a run's workers. */
type Workers = {
  /** A task of a branch that lost was completed, nobody knows when: that the run is sticky to a worker says nothing. */
  readonly doubted: boolean;
  /** Who was refused since: the epoch of the failover, and the worker's sticky queue. */
  readonly refused: Set<string>;
};

export class StaleCaches {
  readonly #runs = new Map<string, Workers>();
  readonly #limit: number;

  constructor(limit = LIMIT) {
    this.#limit = limit;
  }

  /** Another branch of the run was heard of, in which a worker had completed a task. */
  doubt({ runId }: RunRef): void {
    this.#keep(runId, { doubted: true, refused: new Set() });
  }

  /** A completion was taken: the run is sticky to its worker by now. Forgotten once there are many: else it saves a refusal. */
  taken({ runId }: RunRef): void {
    if (this.#runs.size > this.#limit / 2) this.#runs.delete(runId);
  }

  /**
   * Fails the task, so that it is offered again at once, where its worker may have skipped events.
   * Errors: `not-found`, on which the worker forgets the run; those of `execute`
   */
  async check(
    ownership: Pick<Ownership, 'at' | 'execute'>,
    {
      run,
      input,
      forced,
    }: { readonly run: RunRef; readonly input: Completion; readonly forced: number },
    call: CallContext,
  ): Promise<void> {
    const queue = input.sticky?.queue;
    if (queue === undefined || forced === 0) return;
    const { runId } = run;
    const worker = `${forced}/${queue}`;
    const isFresh = await ownership.at(run, call.signal, ({ run: { head } }) => {
      const known = this.#runs.get(runId);
      if (known === undefined && this.#runs.size >= this.#limit) return true;
      const { refused, doubted } = known ?? nobody();
      return refused.has(worker) || hasReplayed(head, { queue, forced, doubted });
    });
    if (isFresh) return;
    const { claim, identity, binaryChecksum } = input;
    const message =
      'the worker may remember events that were lost in a failover: it is to replay the run';
    // Of a task that was given out before the failover: perhaps an old answer that nobody waits for any more.
    if (claim.epoch < forced) throw refusal(message);
    const cause = WorkflowTaskFailedCause.FailoverCloseCommand;
    const failure = { message, serverFailureInfo: {} };
    const failed = {
      kind: 'fail-workflow-task',
      claim,
      cause,
      failure,
      identity,
      binaryChecksum,
    } as const;
    const workers = this.#runs.get(runId) ?? nobody();
    await ownership.execute(run, failed, call);
    // Where another branch was heard of meanwhile, this is forgotten with all else, and the worker is refused again.
    workers.refused.add(worker);
    if (!this.#runs.has(runId)) this.#keep(runId, workers);
    throw refusal(message);
  }

  #keep(runId: string, workers: Workers): void {
    if (this.#runs.has(runId) || this.#runs.size < this.#limit) this.#runs.set(runId, workers);
  }
}

function nobody(): Workers {
  return { doubted: false, refused: new Set() };
}

function refusal(why: string): AtollError {
  return new AtollError('not-found', `Workflow task not found: ${why}.`);
}

/** Whether what a worker remembers of the run is of the branch that is here. Pure. */
export function hasReplayed(
  { lineage, epoch, sticky }: Pick<RunState, 'lineage' | 'epoch' | 'sticky'>,
  {
    queue,
    forced,
    doubted,
  }: { readonly queue: string; readonly forced: number; readonly doubted: boolean },
): boolean {
  const began = lineage[0]?.epoch ?? epoch;
  if (began >= forced) return true;
  // Nothing is sticky across epochs (carry.ts).
  return !doubted && epoch >= forced && sticky?.queue === queue;
}
