/**
 * The thin worker: polls, answers and measures; no workflow code, no replay. What a workflow does is read from its type
 * name and from the events of its history, so nothing that a restarted server or a retried task could confuse is kept.
 *
 *   activities-N  N activities one after another, then its end
 *   timer         one timer, due at the time in the workflow id (`…@<ms since 1970>`), then its end
 *   idle          nothing: it stays open
 *
 * Place: bench/worker-main.ts runs it in a process of its own.
 */
import { COMMAND_TYPE, EVENT_TYPE } from '../../wire/event-kinds.ts';
import { TaskQueueKind } from '../../wire/enums.ts';
import type { Request } from '../../wire/services.ts';
import { toDuration } from '../../wire/time.ts';
import { CallError, Channel, STATUS } from './channel.ts';
import type { WorkerOptions, WorkerReport } from './messages.ts';
import { pathOf, requestOf, type BenchRpc } from './requests.ts';
import { Samples } from './samples.ts';
import {
  scanActivityTask,
  scanEagerTasks,
  scanWorkflowTask,
  timestampMs,
  type ActivityTask,
  type WorkflowTask,
} from './scan.ts';
import { nowMs, sleep } from './time.ts';

const POLL_MS = 70_000;
const RESPOND_MS = 10_000;
const ACTIVITY_MS = 30_000;
const ACTIVITY_TO_CLOSE_MS = 600_000;
const STICKY_MS = 10_000;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 1_000;

type Command = NonNullable<Request<'RespondWorkflowTaskCompleted'>['commands']>[number];

const COMPLETE: Command = {
  commandType: COMMAND_TYPE.CompleteWorkflowExecution,
  completeWorkflowExecutionCommandAttributes: {},
};

function newSamples() {
  return { dispatch: new Samples(), scheduleToStart: new Samples(), timerLag: new Samples() };
}

export class ThinWorker {
  readonly #options: WorkerOptions;
  readonly #identity = `bench-worker-${process.pid}`;
  readonly #channel: Channel;
  readonly #counts = { workflowTasks: 0, activityTasks: 0, eagerActivities: 0, fired: 0, stale: 0 };
  /** Run id → when its activity was scheduled, and how long its timer takes. */
  readonly #scheduledAt = new Map<string, number>();
  readonly #timerMs = new Map<string, number>();
  #samples = newSamples();
  #recording = false;
  #stopping = false;
  #errors = 0;
  #lastError = '';
  #lastFiredAt = 0;
  #onFirstTask: (() => void) | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { address, namespace, sessions } = options;
    this.#channel = new Channel(address, {
      sessions,
      headers: { 'temporal-namespace': namespace },
    });
  }

  /** Starts all pollers. */
  start(): void {
    const { pollers, activities, sticky, taskQueue } = this.#options;
    const normal = { name: taskQueue, kind: TaskQueueKind.Normal };
    const workflow = (message: Buffer) => this.#takeWorkflowTask(message);
    const activity = (message: Buffer) => this.#takeActivityTask(message);
    for (let i = 0; i < pollers; i += 1) {
      void this.#poll('PollWorkflowTaskQueue', normal, workflow);
      if (sticky) void this.#poll('PollWorkflowTaskQueue', this.#stickyQueue(), workflow);
      if (activities) void this.#poll('PollActivityTaskQueue', normal, activity);
    }
  }

  stop(): void {
    this.#stopping = true;
    this.#channel.close();
  }

  record(on: boolean): void {
    this.#recording = on;
    if (on) this.#samples = newSamples();
  }

  /** Calls back once, at the next task. */
  onFirstTask(listener: () => void): void {
    this.#onFirstTask = listener;
  }

  report(): WorkerReport {
    const { dispatch, scheduleToStart, timerLag } = this.#samples;
    return {
      ...this.#counts,
      errors: this.#errors,
      lastError: this.#lastError,
      lastFiredAt: this.#lastFiredAt,
      dispatch: dispatch.summary(),
      scheduleToStart: scheduleToStart.summary(),
      timerLag: timerLag.summary(),
    };
  }

  #stickyQueue() {
    const { taskQueue } = this.#options;
    const name = `${taskQueue}-sticky-${process.pid}`;
    return { name, kind: TaskQueueKind.Sticky, normalName: taskQueue };
  }

  async #poll(
    rpc: 'PollWorkflowTaskQueue' | 'PollActivityTaskQueue',
    taskQueue: NonNullable<Request<'PollWorkflowTaskQueue'>['taskQueue']>,
    take: (message: Buffer) => void,
  ): Promise<void> {
    const { namespace } = this.#options;
    const request = requestOf(rpc, { namespace, taskQueue, identity: this.#identity });
    while (!this.#stopping) {
      try {
        take(await this.#channel.call(pathOf(rpc), request, POLL_MS));
      } catch (error) {
        if (this.#stopping || codeOf(error) === STATUS.deadlineExceeded) continue;
        this.#fault(rpc, error);
        await sleep(FIRST_WAIT_MS);
      }
    }
  }

  #takeWorkflowTask(message: Buffer): void {
    const task = scanWorkflowTask(message);
    if (task === undefined) return;
    this.#counts.workflowTasks += 1;
    this.#noteFirst();
    void this.#answerWorkflowTask(task);
  }

  async #answerWorkflowTask(task: WorkflowTask): Promise<void> {
    const { namespace, sticky } = this.#options;
    const answer: Request<'RespondWorkflowTaskCompleted'> = {
      taskToken: task.token,
      identity: this.#identity,
      namespace,
      commands: this.#decide(task),
    };
    const attributes = {
      workerTaskQueue: this.#stickyQueue(),
      scheduleToStartTimeout: toDuration(STICKY_MS),
    };
    const request = requestOf('RespondWorkflowTaskCompleted', {
      ...answer,
      ...(sticky ? { stickyAttributes: attributes } : {}),
    });
    const answered = await this.#respond('RespondWorkflowTaskCompleted', request);
    if (answered === undefined) return;
    for (const activity of scanEagerTasks(answered)) {
      this.#counts.eagerActivities += 1;
      void this.#answerActivityTask(activity);
    }
  }

  #decide(task: WorkflowTask): readonly Command[] {
    const [kind, count = ''] = task.type.split('-');
    if (kind === 'idle') return [];
    if (task.more) throw new Error('a history of more than one page is beyond the thin worker');
    return kind === 'timer' ? this.#decideTimer(task) : this.#decideActivity(task, Number(count));
  }

  #decideActivity(task: WorkflowTask, wanted: number): readonly Command[] {
    const seen = (type: number) => task.events.filter((event) => event.type === type).length;
    const finished = seen(EVENT_TYPE.ActivityTaskCompleted);
    if (finished >= wanted) return [COMPLETE];
    if (seen(EVENT_TYPE.ActivityTaskScheduled) > finished) return [];
    this.#scheduledAt.set(task.runId, nowMs());
    return [this.#activityCommand(finished + 1)];
  }

  #activityCommand(number: number): Command {
    const { taskQueue, eager } = this.#options;
    return {
      commandType: COMMAND_TYPE.ScheduleActivityTask,
      scheduleActivityTaskCommandAttributes: {
        activityId: String(number),
        activityType: { name: 'noop' },
        taskQueue: { name: taskQueue },
        scheduleToCloseTimeout: toDuration(ACTIVITY_TO_CLOSE_MS),
        startToCloseTimeout: toDuration(ACTIVITY_MS),
        requestEagerExecution: eager,
      },
    };
  }

  #decideTimer(task: WorkflowTask): readonly Command[] {
    const of = (type: number) => task.events.find((event) => event.type === type);
    const started = of(EVENT_TYPE.TimerStarted);
    if (of(EVENT_TYPE.TimerFired) !== undefined) {
      const dueAt = timestampMs(started?.time ?? Buffer.alloc(0)) + this.#timerOf(task.runId);
      this.#lastFiredAt = nowMs();
      if (!Number.isNaN(dueAt)) this.#samples.timerLag.add(this.#lastFiredAt - dueAt);
      this.#counts.fired += 1;
      return [COMPLETE];
    }
    if (started !== undefined) return [];
    const dueAt = Number(task.workflowId.split('@')[1]);
    const ms = Math.max(1, Math.round(dueAt - Date.now()));
    this.#timerMs.set(task.runId, ms);
    return [
      {
        commandType: COMMAND_TYPE.StartTimer,
        startTimerCommandAttributes: { timerId: '1', startToFireTimeout: toDuration(ms) },
      },
    ];
  }

  #timerOf(runId: string): number {
    const ms = this.#timerMs.get(runId) ?? Number.NaN;
    this.#timerMs.delete(runId);
    return ms;
  }

  #takeActivityTask(message: Buffer): void {
    const task = scanActivityTask(message);
    if (task !== undefined) void this.#answerActivityTask(task);
  }

  async #answerActivityTask(task: ActivityTask): Promise<void> {
    this.#counts.activityTasks += 1;
    this.#noteFirst();
    if (this.#recording) {
      const scheduledAt = this.#scheduledAt.get(task.runId);
      if (scheduledAt !== undefined) this.#samples.dispatch.add(nowMs() - scheduledAt);
      this.#samples.scheduleToStart.add(task.startedAt - task.scheduledAt);
    }
    this.#scheduledAt.delete(task.runId);
    const { namespace } = this.#options;
    const fields = { taskToken: task.token, identity: this.#identity, namespace };
    await this.#respond(
      'RespondActivityTaskCompleted',
      requestOf('RespondActivityTaskCompleted', fields),
    );
  }

  /** A server that is away or busy is asked again; a task that it no longer knows is dropped. */
  async #respond(rpc: BenchRpc, request: Buffer): Promise<Buffer | undefined> {
    for (let wait = FIRST_WAIT_MS; !this.#stopping; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      try {
        return await this.#channel.call(pathOf(rpc), request, RESPOND_MS);
      } catch (error) {
        if (codeOf(error) === STATUS.notFound) {
          this.#counts.stale += 1;
          return undefined;
        }
        this.#fault(rpc, error);
        await sleep(wait);
      }
    }
    return undefined;
  }

  #noteFirst(): void {
    this.#onFirstTask?.();
    this.#onFirstTask = undefined;
  }

  #fault(rpc: BenchRpc, error: unknown): void {
    this.#errors += 1;
    this.#lastError = `${rpc}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function codeOf(error: unknown): number | undefined {
  return error instanceof CallError ? error.code : undefined;
}
