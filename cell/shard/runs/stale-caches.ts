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
 *  2. A worker is refused once a run as long as that is remembered here: by an owner of its shard, of the newest `LIMIT`.
 */
import { AtollError } from '../../../kernel/errors.ts';
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { RunInput } from '../../history/input.ts';
import type { RunState } from '../../history/state.ts';
import type { CallContext, RunRef } from '../engine.ts';
import type { Ownership } from '../ownership.ts';

type Completion = Extract<RunInput, { kind: 'complete-workflow-task' }>;

const LIMIT = 20_000;

export class StaleCaches {
  /** Workers by their sticky queues, each with a run, that were refused; the oldest first. */
  readonly #refused = new Set<string>();

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
    const key = `${run.runId}/${forced}/${queue}`;
    if (this.#refused.has(key)) return;
    const isFresh = await ownership.at(run, call.signal, (found) =>
      hasReplayed(found.run.head, { queue, forced }),
    );
    if (isFresh) return;
    const { claim, identity, binaryChecksum } = input;
    const message =
      'the worker may remember events that were lost in a failover: it is to replay the run';
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
    await ownership.execute(run, failed, call);
    this.#refused.add(key);
    const [oldest] = this.#refused;
    if (this.#refused.size > LIMIT && oldest !== undefined) this.#refused.delete(oldest);
    throw new AtollError('not-found', `Workflow task not found: ${message}.`);
  }
}

/** Whether what a worker remembers of the run is of the branch that is here. Pure. */
export function hasReplayed(
  { lineage, epoch, sticky }: Pick<RunState, 'lineage' | 'epoch' | 'sticky'>,
  { queue, forced }: { readonly queue: string; readonly forced: number },
): boolean {
  const began = lineage[0]?.epoch ?? epoch;
  // Nothing is sticky across epochs (carry.ts).
  return began >= forced || (epoch >= forced && sticky?.queue === queue);
}
