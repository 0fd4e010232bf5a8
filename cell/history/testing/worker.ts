/** A worker of the laboratory: takes workflow tasks as matching would hand them out, and answers them by token. */
import type { Command, HistoryEvent } from '../../../wire/events.ts';
import type { Decision, WorkflowTaskStartedReply } from '../decision.ts';
import type { RunInput, WorkflowTaskClaim } from '../input.ts';
import type { TaskStart } from '../state.ts';
import type { Lab } from './lab.ts';

let polls = 0;

/** A task in a worker's hand, and the run that its token names. */
export type TaskInHand = WorkflowTaskStartedReply & { readonly runId: string };

/** Takes the task that is on offer; throws when none is. */
export function pollTask(lab: Lab, requestId = `poll-${(polls += 1)}`): TaskInHand {
  const offer = lab.work.find((work) => work.kind === 'workflow-task');
  if (offer?.kind !== 'workflow-task') throw new Error('no workflow task is on offer');
  if (offer.notBefore > lab.now) throw new Error('the workflow task still waits');
  const { scheduledEventId, attempt } = offer;
  const decision = lab.ask({
    kind: 'start-workflow-task',
    scheduledEventId,
    attempt,
    requestId,
    identity: 'worker',
  });
  if (decision.kind === 'refuse' || decision.reply.kind !== 'workflow-task-started')
    throw new Error(`the task was not started: ${sayDecision(decision)}`);
  return { ...decision.reply, runId: lab.runId };
}

/** The token of a start. */
export function claimOf(start: TaskStart): WorkflowTaskClaim {
  const { identity: _, ...claim } = start;
  return claim;
}

type CompleteInput = Extract<RunInput, { kind: 'complete-workflow-task' }>;

export function completeTask(
  lab: Lab,
  task: TaskInHand,
  commands: readonly Command[],
  changed: Partial<CompleteInput> = {},
): Decision {
  const input: RunInput = {
    kind: 'complete-workflow-task',
    claim: claimOf(task.start),
    identity: 'worker',
    commands,
    forceNewTask: false,
    binaryChecksum: '',
    ...changed,
  };
  return lab.ask(input, task.runId);
}

export function failTask(lab: Lab, task: TaskInHand): Decision {
  const input: RunInput = {
    kind: 'fail-workflow-task',
    claim: claimOf(task.start),
    cause: 14,
    failure: { message: 'boom' },
    identity: 'worker',
    binaryChecksum: '',
  };
  return lab.ask(input, task.runId);
}

/** The history of the newest run, in few words. */
export function say(lab: Lab, runId = lab.runId): string {
  return sayEvents(lab.eventsOf(runId));
}

export function sayEvents(events: readonly HistoryEvent[]): string {
  return events
    .map(({ kind }) =>
      kind.replace(/^Workflow(Execution)?/u, '').replace(/^ActivityTask/u, 'Activity'),
    )
    .join(' ');
}

export function sayDecision(decision: Decision): string {
  if (decision.kind === 'refuse') return `refused: ${decision.error.code}`;
  const { reply } = decision;
  if (reply.kind === 'started') return `${reply.fresh ? 'fresh' : 'known'} ${reply.runId}`;
  return reply.kind === 'workflow-task-rejected' ? `rejected: ${reply.message}` : reply.kind;
}
