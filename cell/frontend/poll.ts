/**
 * The loop that every task poll runs: wait for a task, start it for this poller, or wait on if it was obsolete.
 *
 * Invariants
 *  1. A task that matching handed out is started, found obsolete, or given back; it is never dropped (P7).
 *  2. No task is started here for a client that is gone (BEHAVIOURS 21).
 *  3. A poll that found nothing in time is no error.
 */
import { startDeadline, withDeadline } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { TaskQueue } from '../../wire/plain.ts';
import type { ActivityStartedReply } from '../history/decision.ts';
import type { OfferedTask, QueueKey } from '../matching/matching.ts';
import type { StartedTask } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts } from './call.ts';
import { longPollMs } from './long-poll.ts';
import { requiredId } from './validate/ids.ts';

export type PollRequest = { readonly queue: QueueKey; readonly identity: string };

/** A task in this poller's hand. */
export type PolledTask = {
  readonly task: OfferedTask;
  readonly started: Exclude<StartedTask, { readonly kind: 'obsolete' }>;
};

export function queueOf(
  call: AdmittedCall,
  kind: QueueKey['kind'],
  taskQueue: TaskQueue | undefined,
): QueueKey {
  return { namespaceId: call.namespaceId, kind, name: requiredId('TaskQueue', taskQueue?.name) };
}

/** The next task of a queue, started; undefined when the poll is over first. */
export async function pollTask(
  parts: FrontendParts,
  request: PollRequest,
  call: AdmittedCall,
): Promise<PolledTask | undefined> {
  const { matching, config, clock } = parts;
  const { queue, identity } = request;
  const deadline = startDeadline(clock, {
    what: `poll of task queue ${queue.name}`,
    timeoutMs: longPollMs(config, config.pollMs, call),
    parent: call.signal,
  });
  try {
    for (;;) {
      parts.engine.assertActing(queue.namespaceId);
      const task = await matching.poll(queue, { identity, signal: deadline.signal });
      if (task === undefined) return undefined;
      if (task.started !== undefined) return { task, started: startedBefore(task.started) };
      if (deadline.signal.aborted) {
        matching.giveBack(task);
        return undefined;
      }
      const started = await startTask(parts, { task, identity }, call);
      if (started.kind !== 'obsolete') return { task, started };
    }
  } finally {
    deadline.done();
  }
}

/** Its start came with the transition that scheduled it (activity-polls.ts). */
function startedBefore(reply: ActivityStartedReply): PolledTask['started'] {
  return { kind: 'started', reply, queries: new Map() };
}

/** Starts it, not bound by the poll's own end: what was begun is worth finishing while the client is there. */
async function startTask(
  parts: FrontendParts,
  handed: { readonly task: OfferedTask; readonly identity: string },
  call: AdmittedCall,
): Promise<StartedTask> {
  const { task, identity } = handed;
  const what = `start of a task of workflow ${task.workflowId}`;
  const options = { what, timeoutMs: parts.config.callMs, parent: call.signal };
  // One id for each task in hand: a start that is sent again under it is the same start (D7).
  const requestId = task.requestId ?? parts.rng.uuid();
  const poller = { requestId, identity };
  try {
    return await withDeadline(parts.clock, options, (signal) =>
      parts.engine.startTask(task, poller, { ...call, signal }),
    );
  } catch (thrown) {
    if (thrown instanceof AtollError && thrown.code === 'not-found') return { kind: 'obsolete' };
    // If it was started all the same, the next poller asks for that very start, which no worker has heard of.
    parts.matching.giveBack({ ...task, requestId });
    throw thrown;
  }
}
