/**
 * A client and worker of one namespace that speak raw RPCs to a throwaway cell, for tests of behaviours that an SDK
 * hides. It fills in what every request needs; whatever a test gives comes after and wins.
 */
import type { HistoryEvent } from '../../../wire/events.ts';
import { randomUUID } from 'node:crypto';
import { AtollError } from '../../../kernel/errors.ts';
import { toWireCommand } from '../../../wire/command-codec.ts';
import { fromWireEvent } from '../../../wire/event-codec.ts';
import type { CommandKind } from '../../../wire/event-kinds.ts';
import type { Command } from '../../../wire/events.ts';
import { decodeStatusDetails } from '../../../wire/failures.ts';
import type { Payloads } from '../../../wire/plain.ts';
import type { Request, Response } from '../../../wire/services.ts';
import type { CallOptions } from '../../testing/raw-calls.ts';
import type { ThrowawayCell } from '../../testing/throwaway-fleet.ts';

export type PolledTask = Response<'PollWorkflowTaskQueue'>;
export type PolledActivity = Response<'PollActivityTaskQueue'>;

/** How a call was refused: its code, its words and the names of its typed details. */
export type Refusal = {
  readonly code: string;
  readonly message: string;
  readonly details: readonly string[];
};

/** A poll that finds nothing ends empty after this; the cell answers half a second, or a quarter, earlier. */
const NO_TASK_MS = 1_000;
const SOON_MS = 10_000;

export class RawClient {
  readonly cell: ThrowawayCell;
  readonly namespace: string;
  /** The task queue of everything here, so that tests of one cell do not meet. */
  readonly queue: string;

  constructor(cell: ThrowawayCell, options: { namespace?: string; queue?: string } = {}) {
    this.cell = cell;
    this.namespace = options.namespace ?? 'default';
    this.queue = options.queue ?? randomUUID();
  }

  /** Starts a run; answers its id. */
  async start(workflowId: string, fields: Request<'StartWorkflowExecution'> = {}): Promise<string> {
    const { runId = '' } = await this.startFully(workflowId, fields);
    return runId;
  }

  startFully(workflowId: string, fields: Request<'StartWorkflowExecution'> = {}) {
    const request = {
      namespace: this.namespace,
      workflowId,
      workflowType: { name: 'raw' },
      taskQueue: { name: this.queue },
      requestId: randomUUID(),
      identity: 'client',
      ...fields,
    };
    return this.cell.call('StartWorkflowExecution', request);
  }

  signal(workflowId: string, signalName: string, fields: Request<'SignalWorkflowExecution'> = {}) {
    return this.cell.call('SignalWorkflowExecution', {
      namespace: this.namespace,
      workflowExecution: { workflowId },
      signalName,
      requestId: randomUUID(),
      ...fields,
    });
  }

  cancel(workflowId: string, fields: Request<'RequestCancelWorkflowExecution'> = {}) {
    return this.cell.call('RequestCancelWorkflowExecution', {
      namespace: this.namespace,
      workflowExecution: { workflowId },
      requestId: randomUUID(),
      ...fields,
    });
  }

  terminate(workflowId: string, fields: Request<'TerminateWorkflowExecution'> = {}) {
    return this.cell.call('TerminateWorkflowExecution', {
      namespace: this.namespace,
      workflowExecution: { workflowId },
      ...fields,
    });
  }

  query(workflowId: string, queryType: string, options: CallOptions = {}) {
    return this.cell.call(
      'QueryWorkflow',
      { namespace: this.namespace, execution: { workflowId }, query: { queryType } },
      options,
    );
  }

  async describe(workflowId: string, runId?: string) {
    const execution = { workflowId, runId };
    return this.cell.call('DescribeWorkflowExecution', { namespace: this.namespace, execution });
  }

  /** The next workflow task; fails where there is none. */
  async task(fields: Request<'PollWorkflowTaskQueue'> = {}): Promise<PolledTask> {
    const task = await this.pollTask(fields, { timeoutMs: SOON_MS });
    if (!task.taskToken) throw new Error('no workflow task came');
    return task;
  }

  /** Polls once; the answer is empty where no task comes soon. */
  pollTask(
    fields: Request<'PollWorkflowTaskQueue'> = {},
    options: CallOptions = { timeoutMs: NO_TASK_MS },
  ): Promise<PolledTask> {
    const taskQueue = { name: this.queue };
    const request = { namespace: this.namespace, taskQueue, identity: 'worker', ...fields };
    return this.cell.call('PollWorkflowTaskQueue', request, options);
  }

  complete(
    task: PolledTask,
    commands: readonly Command[] = [],
    fields: Request<'RespondWorkflowTaskCompleted'> = {},
  ) {
    return this.cell.call('RespondWorkflowTaskCompleted', {
      namespace: this.namespace,
      taskToken: task.taskToken,
      identity: 'worker',
      commands: commands.map(toWireCommand),
      ...fields,
    });
  }

  failTask(task: PolledTask, fields: Request<'RespondWorkflowTaskFailed'> = {}) {
    return this.cell.call('RespondWorkflowTaskFailed', {
      namespace: this.namespace,
      taskToken: task.taskToken,
      identity: 'worker',
      failure: { message: 'broken' },
      ...fields,
    });
  }

  /** Polls and completes the next task with these commands. */
  async work(...commands: Command[]): Promise<PolledTask> {
    const task = await this.task();
    await this.complete(task, commands);
    return task;
  }

  async activity(): Promise<PolledActivity> {
    const activity = await this.pollActivity({ timeoutMs: SOON_MS });
    if (!activity.taskToken) throw new Error('no activity task came');
    return activity;
  }

  pollActivity(options: CallOptions = { timeoutMs: NO_TASK_MS }): Promise<PolledActivity> {
    const taskQueue = { name: this.queue };
    const request = { namespace: this.namespace, taskQueue, identity: 'worker' };
    return this.cell.call('PollActivityTaskQueue', request, options);
  }

  /** All events of a run, page after page. */
  async events(workflowId: string, runId?: string): Promise<HistoryEvent[]> {
    const events: HistoryEvent[] = [];
    let nextPageToken: Uint8Array | undefined;
    do {
      const request = {
        namespace: this.namespace,
        execution: { workflowId, runId },
        nextPageToken,
      };
      const page = await this.cell.call('GetWorkflowExecutionHistory', request);
      events.push(...eventsOf(page));
      nextPageToken = page.nextPageToken;
    } while (nextPageToken && nextPageToken.length > 0);
    return events;
  }

  /** The kinds of all events of a run, short: `Started`, `TaskScheduled`, `ActivityTaskScheduled` … */
  async kinds(workflowId: string, runId?: string): Promise<string> {
    return kindsOf(await this.events(workflowId, runId));
  }
}

/** The events of a task or of a page of history. */
export function eventsOf(message: Pick<PolledTask, 'history'>): HistoryEvent[] {
  return (message.history?.events ?? []).flatMap((event) => fromWireEvent(event) ?? []);
}

/** As one line, `WorkflowExecution` and `Workflow` left out of the kinds. */
export function kindsOf(events: readonly HistoryEvent[]): string {
  return events.map(({ kind }) => kind.replace(/^Workflow(Execution)?/, '')).join(' ');
}

export function command<K extends CommandKind>(
  kind: K,
  attributes: Extract<Command, { kind: K }>['attributes'] = {} as never,
): Command {
  return { kind, attributes } as Command;
}

export const closes = command('CompleteWorkflowExecution', {});

export function text(value: string): Payloads {
  const encoding = new TextEncoder().encode('json/plain');
  return {
    payloads: [{ metadata: { encoding }, data: new TextEncoder().encode(JSON.stringify(value)) }],
  };
}

export function seconds(value: number) {
  return { seconds: Math.floor(value), nanos: Math.round((value % 1) * 1e9) };
}

/** Why a call was refused; fails if it was not. */
export async function refusal(call: Promise<unknown>): Promise<Refusal> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (thrown) {
    if (!(thrown instanceof AtollError)) throw thrown;
    const bytes = (thrown.detail?.value as { details?: Uint8Array } | undefined)?.details;
    const details = decodeStatusDetails(bytes ?? new Uint8Array()).map(([name]) => name);
    return { code: thrown.code, message: thrown.message, details };
  }
  throw new Error(`not refused: ${JSON.stringify(answer)}`);
}

/** Why each of these calls was refused, made at the same time. */
export function refusals(calls: readonly Promise<unknown>[]): Promise<readonly Refusal[]> {
  return Promise.all(calls.map(refusal));
}

/** Asks again until it holds. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + SOON_MS;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error('the condition did not come to hold');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
